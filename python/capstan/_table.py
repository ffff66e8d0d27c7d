"""What Python calls the parameters of ops, in TensorFlow's order.

A line is `op parameter ...`, or `name:op parameter ...` for a function that is not called as its op. A parameter is
`name`, `name=ours` where the library calls it otherwise, `name=` where it is accepted and ignored, `name~value` where it
is a choice of which the library has this one alone, and `name!` for an input that has a dtype of its own, as indices do.
`name=` is added at the end. An op without a line has the library's
names.
"""

TABLE = """
atan2 y x
igamma a x
cast x dtype
saturate_cast value=x dtype
weighted_moments x axes frequency_weights=weights keepdims
where condition! x y
clip_by_value t=x clip_value_min=low clip_value_max=high
softplus features=x
softsign features=x
relu features=x
relu6 features=x
elu features=x
selu features=x
gelu features=x approximate
leaky_relu features=x alpha
silu features=x beta
crelu features=x axis
identity input=x
stop_gradient input=x
real input=x
imag input=x
angle input=x
reduce_sum input_tensor=x axis keepdims
reduce_mean input_tensor=x axis keepdims
reduce_prod input_tensor=x axis keepdims
reduce_max input_tensor=x axis keepdims
reduce_min input_tensor=x axis keepdims
reduce_any input_tensor=x axis keepdims
reduce_all input_tensor=x axis keepdims
reduce_logsumexp input_tensor=x axis keepdims
reduce_variance input_tensor=x axis keepdims
reduce_std input_tensor=x axis keepdims
reduce_euclidean_norm input_tensor=x axis keepdims
count_nonzero input=x axis keepdims dtype
argmax input=x axis output_type
argmin input=x axis output_type
cumsum x axis exclusive reverse
cumprod x axis exclusive reverse
cumulative_logsumexp x axis exclusive reverse
unsorted_segment_sum data=x segment_ids! num_segments
unsorted_segment_mean data=x segment_ids! num_segments
unsorted_segment_sqrt_n data=x segment_ids! num_segments
unsorted_segment_prod data=x segment_ids! num_segments
unsorted_segment_max data=x segment_ids! num_segments
unsorted_segment_min data=x segment_ids! num_segments
segment_sum data=x segment_ids!
segment_mean data=x segment_ids!
segment_prod data=x segment_ids!
segment_max data=x segment_ids!
segment_min data=x segment_ids!
dynamic_partition data=x partitions! num_partitions
sort values=x axis direction
argsort values=x axis direction stable
top_k input=x k sorted
in_top_k targets! predictions k
searchsorted sorted_sequence values side out_type
unique x out_idx
unique_with_counts x out_idx
bincount arr=x minlength maxlength dtype
histogram_fixed_width values value_range=range nbins dtype
reverse_sequence input=x seq_lengths!=lengths seq_axis batch_axis
space_to_batch input=x block_shape paddings
batch_to_space input=x block_shape crops
space_to_depth input=x block_size data_format~'NHWC'
depth_to_space input=x block_size data_format~'NHWC'
left_shift x y
right_shift x y
reshape tensor=x shape
expand_dims input=x axis
squeeze input=x axis
transpose a=x perm conjugate
broadcast_to input=x shape
shape input=x out_type
size input=x out_type
rank input=x
concat values=tensors axis
stack values=tensors axis
unstack value=x num axis
split value=x num_or_size_splits=sizes axis
pad tensor=x paddings mode constant_values
tile input=x multiples
repeat input=x repeats axis
reverse tensor=x axis
roll input=x shift axis
zeros_like input=x
ones_like input=x
eye num_rows num_columns batch_shape dtype
linspace start stop num axis
gather params indices! validate_indices= axis batch_dims
embedding_lookup params ids! max_norm~None
gather_nd params indices! batch_dims name= bad_indices_policy~''
scatter_nd indices! updates shape bad_indices_policy~''
tensor_scatter_nd_add tensor indices! updates bad_indices_policy~''
tensor_scatter_nd_sub tensor indices! updates bad_indices_policy~''
tensor_scatter_nd_update tensor indices! updates name= bad_indices_policy~''
tensor_scatter_nd_max tensor indices! updates bad_indices_policy~''
tensor_scatter_nd_min tensor indices! updates bad_indices_policy~''
one_hot indices depth on_value off_value axis dtype
boolean_mask tensor=x mask! axis
sequence_mask lengths maxlen dtype
slice input_=x begin size
strided_slice input_=x begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask
matmul a b transpose_a transpose_b adjoint_a adjoint_b
tensordot a b axes
norm tensor=x ord axis keepdims
normalize tensor=x ord axis
l2_normalize x axis epsilon name= dim~None
global_norm t_list=tensors
clip_by_norm t=x clip_norm axes
add_n inputs=tensors
bias_add value=x bias data_format
diag diagonal=x name= k num_rows num_cols padding_value align
diag_part input=x name= k padding_value align
set_diag input=x diagonal name= k align
band_part input=x num_lower num_upper
adjoint matrix=a
matrix_transpose a name= conjugate
trace x=a
tensor_diag diagonal=x
tensor_diag_part input=x
cholesky input=a
cholesky_solve chol rhs
logdet matrix=a
inv input=a adjoint
pinv a rcond validate_args~False
det input=a
slogdet input=a
qr input=a full_matrices
lu input=a
svd tensor=a full_matrices compute_uv
eigh tensor=a
eigvalsh tensor=a
eig tensor=a
eigvals tensor=a
expm input=a
sqrtm input=a
logm input=a
fft input=x
ifft input=x
fft2d input=x
ifft2d input=x
fft3d input=x
ifft3d input=x
rfft input_tensor=x fft_length
irfft input_tensor=x fft_length
rfft2d input_tensor=x fft_length
irfft2d input_tensor=x fft_length
matrix_rank a tol validate_args~False
polygamma a=n x
conv2d input=x filters strides padding data_format~'NHWC' dilations
max_pool2d_gather x from_=from ksize strides padding
conv3d input=x filters strides padding data_format~'NDHWC' dilations
conv1d input=x filters stride padding data_format~'NWC' dilations
depthwise_conv2d input=x filter=filters strides padding data_format~'NHWC' dilations
conv2d_transpose input=x filters output_shape strides padding data_format~'NHWC' dilations
separable_conv2d input=x depthwise_filter=depthwise_filters pointwise_filter=pointwise_filters strides padding data_format~'NHWC' dilations
max_pool2d input=x ksize strides padding data_format~'NHWC'
avg_pool2d input=x ksize strides padding data_format~'NHWC'
max_pool1d input=x ksize strides padding data_format~'NWC'
avg_pool1d input=x ksize strides padding data_format~'NWC'
max_pool3d input=x ksize strides padding data_format~'NDHWC'
avg_pool3d input=x ksize strides padding data_format~'NDHWC'
max_pool_with_argmax input=x ksize strides padding data_format~'NHWC' output_dtype= include_batch_in_index
moments x axes shift= keepdims
local_response_normalization input=x depth_radius bias alpha beta
dropout x rate seed
softmax logits=x axis
log_softmax logits=x axis
softmax_cross_entropy_with_logits labels logits axis
sparse_softmax_cross_entropy_with_logits labels! logits
sigmoid_cross_entropy_with_logits labels logits
weighted_cross_entropy_with_logits labels logits pos_weight
l2_loss t=x
random_uniform shape minval maxval dtype seed
random_normal shape mean stddev dtype seed
random_truncated_normal shape mean stddev dtype seed
random_shuffle value=x seed
ensure_shape x shape
pool input=x window_shape pooling_type strides padding data_format~None dilations
ctc_loss labels! logits label_length! logit_length! logits_time_major unique~None blank_index
conv1d_transpose input=x filters output_shape strides padding data_format~'NWC' dilations
conv3d_transpose input=x filters output_shape strides padding data_format~'NDHWC' dilations
image_adjust_brightness image=images delta
image_adjust_gamma image=images gamma gain
image_adjust_hue image=images delta
image_adjust_saturation image=images saturation_factor
image_convert_image_dtype image=images dtype saturate
image_crop_and_resize image=images boxes! box_indices! crop_size method extrapolation_value
image_image_gradients image=images
image_per_image_standardization image=images
image_sobel_edges image=images
image_resize_with_crop_or_pad image target_height=height target_width=width
image_ssim img1=a img2=b max_val filter_size filter_sigma k1 k2 return_index_map~False
confusion_matrix labels predictions num_classes dtype
"""


def read(table, ops):
    """Parameters by the names of ops; `ops` is what _core.list_ops() gives."""
    lines = {}
    for line in table.strip().splitlines():
        name, *parameters = line.split()
        lines[name] = parameters
    for name, inputs, count, _, fields in ops:
        if name not in lines:
            required = [f for f, is_required in fields if is_required]
            optional = [f for f, is_required in fields if not is_required]
            lines[name] = ([] if count == 0 else list(inputs)) + required + optional
        if "name=" not in lines[name]:
            lines[name] = lines[name] + ["name="]
    return lines
