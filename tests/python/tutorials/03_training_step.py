import tensorflow as tf
import numpy as np
# Build model
model = tf.keras.Sequential([
    tf.keras.layers.Dense(64, activation='relu', input_shape=(20,)),
    tf.keras.layers.Dense(32, activation='relu'),
    tf.keras.layers.Dense(5),
])
optimizer = tf.keras.optimizers.Adam(learning_rate=0.001)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
@tf.function
def train_step(x_batch, y_batch):
    with tf.GradientTape() as tape:
        # Forward pass: training=True enables Dropout, BatchNorm in training mode
        logits = model(x_batch, training=True)
        loss = loss_fn(y_batch, logits)
    # Compute gradients of loss w.r.t. all trainable variables
    gradients = tape.gradient(loss, model.trainable_variables)
    # Apply gradients
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    # Update metrics
    train_accuracy.update_state(y_batch, logits)
    return loss
# Dummy data
np.random.seed(42)
X = np.random.randn(500, 20).astype(np.float32)
y = np.random.randint(0, 5, 500).astype(np.int64)
dataset = tf.data.Dataset.from_tensor_slices((X, y)).batch(32).shuffle(500)
# Training loop
for epoch in range(3):
    train_accuracy.reset_state()
    epoch_loss = 0.0
    num_batches = 0
    for x_batch, y_batch in dataset:
        loss = train_step(x_batch, y_batch)
        epoch_loss += loss.numpy()
        num_batches += 1
    print(f"Epoch {epoch+1}: loss={epoch_loss/num_batches:.4f}, acc={train_accuracy.result().numpy():.4f}")
