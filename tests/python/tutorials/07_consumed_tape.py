import tensorflow as tf
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = x ** 2
grad1 = tape.gradient(y, x)
print(f"First gradient: {grad1.numpy()}")
try:
    grad2 = tape.gradient(y, x)
except RuntimeError as e:
    print(f"Error: {e}")
