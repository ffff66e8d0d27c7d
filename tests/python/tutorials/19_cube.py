import tensorflow as tf

x = tf.Variable(3.0)  # Initialize variable

with tf.GradientTape() as tape:
    y = x * x * x  # Compute x³

# Compute dy/dx
dy_dx = tape.gradient(y, x)
print(dy_dx.numpy())  # Outputs 27.0, which is 3 * 3²
