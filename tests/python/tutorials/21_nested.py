import tensorflow as tf

x = tf.Variable(5.0)

with tf.GradientTape() as outer_tape:
    with tf.GradientTape() as inner_tape:
        y = x * x
    dy_dx = inner_tape.gradient(y, x)  # First derivative, 2x
d2y_dx2 = outer_tape.gradient(dy_dx, x)  # Second derivative, 2

print(dy_dx.numpy())    # 10.0
print(d2y_dx2.numpy())  # 2.0
