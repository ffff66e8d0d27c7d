import tensorflow as tf
import numpy as np
model = tf.keras.Sequential([
    tf.keras.layers.Dense(128, activation='relu', input_shape=(30,)),
    tf.keras.layers.Dense(64, activation='relu'),
    tf.keras.layers.Dense(10),
])
optimizer = tf.keras.optimizers.Adam(0.001)
task_loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
def activation_l2_penalty(model, inputs, beta=0.001):
    """
    L2 penalty on intermediate activations — encourages sparse representations.
    Not available as a built-in Keras loss.
    """
    # Get output of intermediate layer
    intermediate = model.layers[0](inputs)
    return beta * tf.reduce_mean(tf.square(intermediate))
@tf.function
def train_step(x_batch, y_batch):
    with tf.GradientTape() as tape:
        logits = model(x_batch, training=True)
        task_loss = task_loss_fn(y_batch, logits)
        # Custom regularization (computed inside the tape)
        reg_loss = activation_l2_penalty(model, x_batch)
        total_loss = task_loss + reg_loss
    gradients = tape.gradient(total_loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return task_loss, reg_loss, total_loss
np.random.seed(0)
X = np.random.randn(200, 30).astype(np.float32)
y = np.random.randint(0, 10, 200).astype(np.int64)
for epoch in range(2):
    for xb, yb in tf.data.Dataset.from_tensor_slices((X, y)).batch(64):
        t_loss, r_loss, total = train_step(xb, yb)
    print(f"Epoch {epoch+1}: task={t_loss:.4f}, reg={r_loss:.4f}, total={total:.4f}")
