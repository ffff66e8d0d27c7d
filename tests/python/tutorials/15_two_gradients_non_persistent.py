import tensorflow as tf

a = tf.Variable(6.0, trainable=True)
b = tf.Variable(2.0, trainable=True)
with tf.GradientTape() as tape:
    y1 = a ** 2
    y2 = b ** 3
print(tape.gradient(y1, a).numpy())
try:
    tape.gradient(y2, b)
except RuntimeError as error:
    print(f"RuntimeError: {error}")
