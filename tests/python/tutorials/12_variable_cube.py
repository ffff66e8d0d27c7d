import tensorflow as tf

x = tf.Variable(3.0, trainable=True)
with tf.GradientTape() as tape:
    y = x**3

print(tape.gradient(y, x).numpy())
