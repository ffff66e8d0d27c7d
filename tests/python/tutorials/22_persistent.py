import tensorflow as tf

x = tf.Variable(4.0)

with tf.GradientTape(persistent=True) as tape:
    y = x * x * x

dy1_dx = tape.gradient(y, x)
dy2_dx = tape.gradient(y, x)  # Same tape reused

del tape  # Important to release resources
