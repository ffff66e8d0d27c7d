import tensorflow as tf
x = tf.constant(3.0) # constant, not Variable
with tf.GradientTape() as tape:
    tape.watch(x) # manually add to tape
    y = x ** 3
dy_dx = tape.gradient(y, x)
print(f"dy/dx of x^3 at x=3: {dy_dx.numpy()}") # 3x^2 = 27
