import tensorflow as tf

a = tf.constant(2.0)
with tf.GradientTape() as tape:
    tape.watch(a)  # Start watching the constant tensor
    b = a * a + 3

db_da = tape.gradient(b, a)  # Computes gradient with respect to 'a'
print(db_da.numpy())  # Should print 4.0 (2 * a)
