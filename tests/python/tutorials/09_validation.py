import tensorflow as tf
import numpy as np
model = tf.keras.Sequential([
    tf.keras.layers.Dense(32, activation='relu', input_shape=(10,)),
    tf.keras.layers.Dense(5),
])
val_loss_metric = tf.keras.metrics.Mean()
val_acc_metric = tf.keras.metrics.SparseCategoricalAccuracy()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
@tf.function
def val_step(x_batch, y_batch):
    # No GradientTape — inference only
    logits = model(x_batch, training=False)
    loss = loss_fn(y_batch, logits)
    val_loss_metric.update_state(loss)
    val_acc_metric.update_state(y_batch, logits)
np.random.seed(1)
X_val = np.random.randn(100, 10).astype(np.float32)
y_val = np.random.randint(0, 5, 100).astype(np.int64)
val_loss_metric.reset_state()
val_acc_metric.reset_state()
for xb, yb in tf.data.Dataset.from_tensor_slices((X_val, y_val)).batch(32):
    val_step(xb, yb)
print(f"Val loss: {val_loss_metric.result().numpy():.4f}")
print(f"Val acc: {val_acc_metric.result().numpy():.4f}")
