import tensorflow as tf
x = tf.Variable(2.0)
with tf.GradientTape() as tape2:
    with tf.GradientTape() as tape1:
        y = x ** 4 # y = x^4
    # First derivative: dy/dx = 4x^3
    dy_dx = tape1.gradient(y, x)
# Second derivative: d²y/dx² = 12x^2
d2y_dx2 = tape2.gradient(dy_dx, x)
print(f"x = {x.numpy()}")
print(f"y = x^4 = {y.numpy()}")
print(f"dy/dx = 4x^3 = {dy_dx.numpy()}") # 4 * 8 = 32
print(f"d²y/dx² = 12x^2 = {d2y_dx2.numpy()}") # 12 * 4 = 48
