import tensorflow as tf

# Sample data: y = 3x + 2 with some noise
x_data = tf.constant([1.0, 2.0, 3.0, 4.0])
y_data = tf.constant([5.0, 8.0, 11.0, 14.0])

# Variables to optimize
W = tf.Variable(0.0)
b = tf.Variable(0.0)

learning_rate = 0.01
epochs = 1000

for epoch in range(epochs):
    with tf.GradientTape() as tape:
        y_pred = W * x_data + b  # Forward pass
        loss = tf.reduce_mean(tf.square(y_data - y_pred))  # MSE loss

    # Compute gradients of loss wrt W and b
    gradients = tape.gradient(loss, [W, b])
    # Gradient descent step
    W.assign_sub(learning_rate * gradients[0])
    b.assign_sub(learning_rate * gradients[1])

    if epoch % 100 == 0:
        print(f"Epoch {epoch}: Loss = {loss.numpy():.4f}, W = {W.numpy():.4f}, b = {b.numpy():.4f}")
