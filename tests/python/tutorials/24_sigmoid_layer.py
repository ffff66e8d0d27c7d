import tensorflow as tf

# Inputs and targets
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
y_true = tf.constant([[1.0], [0.0]])

# Initialize weights and bias
weights = tf.Variable(tf.random.normal([2, 1]))
bias = tf.Variable(tf.zeros([1]))

learning_rate = 0.1

for epoch in range(200):
    with tf.GradientTape() as tape:
        logits = tf.matmul(x, weights) + bias
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=y_true, logits=logits))

    grads = tape.gradient(loss, [weights, bias])
    weights.assign_sub(learning_rate * grads[0])
    bias.assign_sub(learning_rate * grads[1])

    if epoch % 50 == 0:
        print(f"Epoch {epoch}: Loss = {loss.numpy():.4f}")
