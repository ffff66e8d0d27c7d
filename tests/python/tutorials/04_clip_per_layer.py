import tensorflow as tf
import numpy as np
backbone = tf.keras.Sequential([
    tf.keras.layers.Dense(64, activation='relu', name='backbone_1', input_shape=(20,)),
    tf.keras.layers.Dense(32, activation='relu', name='backbone_2'),
])
head = tf.keras.layers.Dense(5, name='head')
optimizer = tf.keras.optimizers.Adam(0.001)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
@tf.function
def train_step_custom_clip(x_batch, y_batch):
    with tf.GradientTape() as tape:
        features = backbone(x_batch, training=True)
        logits = head(features, training=True)
        loss = loss_fn(y_batch, logits)
    all_vars = backbone.trainable_variables + head.trainable_variables
    gradients = tape.gradient(loss, all_vars)
    # Apply different clipping to backbone vs head
    clipped_grads = []
    for grad, var in zip(gradients, all_vars):
        if grad is None:
            clipped_grads.append(grad)
        elif 'head' in var.name:
            clipped_grads.append(tf.clip_by_norm(grad, clip_norm=1.0)) # tight clip for head
        else:
            clipped_grads.append(tf.clip_by_norm(grad, clip_norm=5.0)) # looser for backbone
    optimizer.apply_gradients(zip(clipped_grads, all_vars))
    return loss
np.random.seed(42)
X = np.random.randn(100, 20).astype(np.float32)
y = np.random.randint(0, 5, 100).astype(np.int64)
for i, (xb, yb) in enumerate(tf.data.Dataset.from_tensor_slices((X, y)).batch(32)):
    loss = train_step_custom_clip(xb, yb)
    print(f"Batch {i}: loss={loss.numpy():.4f}")
