import tensorflow as tf

theta = tf.Variable([0.5, -0.5])  # Policy parameters

def policy_action_prob(params):
    return tf.nn.softmax(params)

def objective(params):
    probs = policy_action_prob(params)
    reward = tf.constant([1.0, 2.0])
    return tf.reduce_sum(probs * reward)  # Expected reward

with tf.GradientTape() as tape:
    loss = -objective(theta)  # Maximize objective → minimize -objective

grad = tape.gradient(loss, theta)
theta.assign_sub(0.1 * grad)

print(theta.numpy())
