import tensorflow as tf
x = tf.Variable(2.0)
with tf.GradientTape(persistent=True) as tape:
    y1 = x ** 2
    y2 = x ** 3
grad_y1 = tape.gradient(y1, x) # 4.0
grad_y2 = tape.gradient(y2, x) # 12.0
del tape # free resources when done
print(f"d(x^2)/dx = {grad_y1.numpy()}")
print(f"d(x^3)/dx = {grad_y2.numpy()}")
