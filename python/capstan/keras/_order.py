"""Where Keras takes the options of a class in another order than the library's table has them.

A line is `kind class option ...`, up to the option after which the rest follows in the order of the table. A line that
begins with spaces goes on with the one before.
"""

TABLE = """
initializer Orthogonal gain
initializer RandomNormal mean stddev
initializer RandomUniform minval maxval
initializer STFTInitializer side window scaling
initializer TruncatedNormal mean stddev
initializer VarianceScaling scale mode distribution
layer AlphaDropout rate noise_shape
layer AveragePooling1D pool_size strides
layer AveragePooling2D pool_size strides
layer AveragePooling3D pool_size strides
layer BatchNormalization axis momentum epsilon center scale beta_initializer gamma_initializer moving_mean_initializer
    moving_variance_initializer beta_regularizer gamma_regularizer beta_constraint gamma_constraint renorm
    renorm_clipping renorm_momentum
layer Conv3DTranspose filters kernel_size strides padding data_format
layer ConvLSTM1D filters kernel_size strides padding data_format dilation_rate activation recurrent_activation
    use_bias kernel_initializer recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer
    recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint recurrent_constraint bias_constraint
    dropout recurrent_dropout seed
layer ConvLSTM2D filters kernel_size strides padding data_format dilation_rate activation recurrent_activation
    use_bias kernel_initializer recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer
    recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint recurrent_constraint bias_constraint
    dropout recurrent_dropout seed
layer ConvLSTM3D filters kernel_size strides padding data_format dilation_rate activation recurrent_activation
    use_bias kernel_initializer recurrent_initializer bias_initializer unit_forget_bias kernel_regularizer
    recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint recurrent_constraint bias_constraint
    dropout recurrent_dropout seed
layer DepthwiseConv1D kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias
    depthwise_initializer bias_initializer depthwise_regularizer bias_regularizer activity_regularizer
    depthwise_constraint
layer DepthwiseConv2D kernel_size strides padding depth_multiplier data_format dilation_rate activation use_bias
    depthwise_initializer bias_initializer depthwise_regularizer bias_regularizer activity_regularizer
    depthwise_constraint
layer Dropout rate noise_shape
layer EinsumDense equation output_shape activation bias_axes kernel_initializer bias_initializer kernel_regularizer
    bias_regularizer kernel_constraint bias_constraint lora_rank lora_alpha gptq_unpacked_column_size quantization_config
layer Embedding input_dim output_dim embeddings_initializer embeddings_regularizer embeddings_constraint mask_zero
    weights lora_rank lora_alpha quantization_config
layer GRU units activation recurrent_activation use_bias kernel_initializer recurrent_initializer bias_initializer
    kernel_regularizer recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint
    recurrent_constraint bias_constraint dropout recurrent_dropout seed return_sequences return_state go_backwards
    stateful unroll reset_after use_cudnn
layer GroupQueryAttention head_dim num_query_heads num_key_value_heads dropout use_bias sliding_window flash_attention
    kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer kernel_constraint
    bias_constraint use_gate seed
layer GRUCell units activation recurrent_activation use_bias kernel_initializer recurrent_initializer bias_initializer
    kernel_regularizer recurrent_regularizer bias_regularizer kernel_constraint recurrent_constraint bias_constraint
    dropout recurrent_dropout reset_after
layer Hashing num_bins mask_value
layer IntegerLookup max_tokens num_oov_indices mask_token oov_token vocabulary vocabulary_dtype idf_weights invert
    output_mode sparse pad_to_max_tokens oov_method salt
layer LSTM units activation recurrent_activation use_bias kernel_initializer recurrent_initializer bias_initializer
    unit_forget_bias kernel_regularizer recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint
    recurrent_constraint bias_constraint dropout recurrent_dropout seed return_sequences return_state go_backwards
    stateful unroll use_cudnn
layer LSTMCell units activation recurrent_activation use_bias kernel_initializer recurrent_initializer
    bias_initializer unit_forget_bias
layer MaxPooling1D pool_size strides
layer MaxPooling2D pool_size strides
layer MaxPooling3D pool_size strides
layer MultiHeadAttention num_heads key_dim value_dim dropout use_bias output_shape attention_axes sliding_window
    flash_attention kernel_initializer bias_initializer kernel_regularizer bias_regularizer activity_regularizer
    kernel_constraint bias_constraint use_gate seed
layer Normalization axis mean variance
layer SeparableConv1D filters kernel_size strides padding data_format dilation_rate depth_multiplier activation
    use_bias depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer pointwise_regularizer
    bias_regularizer activity_regularizer depthwise_constraint pointwise_constraint
layer SeparableConv2D filters kernel_size strides padding data_format dilation_rate depth_multiplier activation
    use_bias depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer pointwise_regularizer
    bias_regularizer activity_regularizer depthwise_constraint pointwise_constraint
layer SimpleRNN units activation use_bias kernel_initializer recurrent_initializer bias_initializer kernel_regularizer
    recurrent_regularizer bias_regularizer activity_regularizer kernel_constraint recurrent_constraint bias_constraint
    dropout recurrent_dropout return_sequences return_state go_backwards stateful unroll seed
layer SpatialDropout2D rate data_format
layer SpatialDropout3D rate data_format
layer StringLookup max_tokens num_oov_indices mask_token oov_token vocabulary idf_weights invert output_mode
    pad_to_max_tokens sparse encoding salt
layer TextVectorization max_tokens standardize split ngrams output_mode output_sequence_length pad_to_max_tokens
    vocabulary idf_weights
loss Dice reduction name
loss SparseCategoricalCrossentropy from_logits ignore_class reduction
loss Tversky alpha beta reduction name
metric AUC num_thresholds curve summation_method name dtype
metric BinaryAccuracy name dtype
metric BinaryCrossentropy name dtype
metric CategoricalCrossentropy name dtype
metric ConcordanceCorrelation name dtype
metric CosineSimilarity name dtype
metric IoU num_classes target_class_ids name dtype
metric MeanIoU num_classes name dtype
metric OneHotIoU num_classes target_class_ids name dtype
metric OneHotMeanIoU num_classes name dtype
metric PearsonCorrelation name dtype
metric SparseCategoricalCrossentropy name dtype
metric SparseTopKCategoricalAccuracy k name dtype
optimizer AdamW learning_rate weight_decay
optimizer LossScaleOptimizer inner_optimizer initial_scale dynamic_growth_steps name
optimizer Muon learning_rate adam_beta_1 adam_beta_2 adam_weight_decay epsilon weight_decay clipnorm clipvalue
    global_clipnorm use_ema ema_momentum ema_overwrite_frequency loss_scale_factor gradient_accumulation_steps name
    exclude_layers exclude_embeddings
schedule CosineDecay initial_learning_rate decay_steps alpha name
"""


def read():
    """{(kind, class): options}."""
    lines = TABLE.strip("\n").replace("\n    ", " ").splitlines()
    return {tuple(line.split()[:2]): line.split()[2:] for line in lines}
