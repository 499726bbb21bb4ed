"""Names of TensorFlow 1 that a program of Keras 3 can use: where they are, and where they differ.

Read in TensorFlow 1.15.5 and 2.21.0; tests/probes/test_tensorflow1_eager_names.py looks every row
up again.
"""

from __future__ import annotations

from collections.abc import Mapping

_HOMES: tuple[tuple[str, str], ...] = (
    (
        "debugging",
        "assert_proper_iterable assert_same_float_dtype check_numerics is_numeric_tensor",
    ),
    (
        "io",
        "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_base64 "
        "decode_compressed decode_json_example deserialize_many_sparse encode_base64 "
        "matching_files parse_single_sequence_example parse_tensor read_file serialize_tensor "
        "write_file",
    ),
    ("linalg", "cholesky cholesky_solve cross global_norm matrix_transpose qr svd trace"),
    (
        "math",
        "accumulate_n angle betainc ceil conj cumprod digamma erf erfc expm1 floordiv floormod "
        "igamma igammac imag invert_permutation is_finite is_inf is_nan is_non_decreasing "
        "is_strictly_increasing lbeta lgamma log log1p log_sigmoid logical_xor polygamma real "
        "reciprocal rint rsqrt segment_max segment_mean segment_min segment_prod segment_sum "
        "squared_difference unsorted_segment_max unsorted_segment_mean unsorted_segment_min "
        "unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum zeta",
    ),
    ("quantization", "dequantize quantize quantized_concat"),
    ("random", "truncated_normal"),
    ("signal", "fft fft2d fft3d ifft ifft2d ifft3d"),
)
RENAMED: Mapping[str, str] = {
    **{name: f"{home}.{name}" for home, names in _HOMES for name in names.split()},
    "debugging.is_finite": "math.is_finite",
    "debugging.is_inf": "math.is_inf",
    "debugging.is_nan": "math.is_nan",
    "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part",
    "div_no_nan": "math.divide_no_nan",
    "image.resize_image_with_crop_or_pad": "image.resize_with_crop_or_pad",
    "image.transpose_image": "image.transpose",
    "lin_space": "linspace",
    "matrix_band_part": "linalg.band_part",
    "matrix_determinant": "linalg.det",
    "matrix_diag": "linalg.diag",
    "matrix_diag_part": "linalg.diag_part",
    "matrix_inverse": "linalg.inv",
    "matrix_set_diag": "linalg.set_diag",
    "matrix_solve": "linalg.solve",
    "matrix_triangular_solve": "linalg.triangular_solve",
    "mod": "math.floormod",
    "random_crop": "image.random_crop",
    "random_gamma": "random.gamma",
    "random_normal": "random.normal",
    "random_shuffle": "random.shuffle",
    "random_uniform": "random.uniform",
    "regex_replace": "strings.regex_replace",
    "reverse_v2": "reverse",
    "self_adjoint_eig": "linalg.eigh",
    "sparse_reorder": "sparse.reorder",
    "sparse_reshape": "sparse.reshape",
    "sparse_retain": "sparse.retain",
    "sparse_slice": "sparse.slice",
    "sparse_softmax": "sparse.softmax",
    "sparse_tensor_dense_matmul": "sparse.sparse_dense_matmul",
    "sparse_tensor_to_dense": "sparse.to_dense",
    "sparse_transpose": "sparse.transpose",
    "string_join": "strings.join",
    "string_strip": "strings.strip",
    "string_to_hash_bucket_fast": "strings.to_hash_bucket_fast",
    "string_to_hash_bucket_strong": "strings.to_hash_bucket_strong",
    "where_v2": "where",
}
"""Old name to the new name of the same function."""

SEEDS = ("set_random_seed", "random.set_random_seed")
"""What seeded the weights, which Keras 3 takes from a generator of its own."""

_KEPT = """
    Print app arg_max arg_min assert_greater_equal assert_integer assert_less_equal assert_near
    assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive
    assert_rank_at_least assert_rank_in assert_scalar assert_type batch_gather batch_to_space_nd
    bincount clip_by_average_norm confusion_matrix count_nonzero data.get_output_classes
    data.get_output_shapes data.get_output_types data.make_one_shot_iterator decode_csv decode_raw
    depth_to_space div extract_image_patches flags floor_div gfile image.extract_image_patches
    image.resize_area image.resize_bicubic image.resize_bilinear image.resize_image_with_pad
    image.resize_images image.resize_nearest_neighbor io.TFRecordCompressionType
    io.tf_record_iterator linalg.transpose logging losses.absolute_difference
    losses.compute_weighted_loss losses.cosine_distance losses.hinge_loss losses.huber_loss
    losses.log_loss losses.mean_pairwise_squared_error losses.sigmoid_cross_entropy
    losses.softmax_cross_entropy losses.sparse_softmax_cross_entropy multinomial
    nn.depthwise_conv2d_native nn.relu_layer nn.softmax_cross_entropy_with_logits_v2 nn.xw_plus_b
    parse_example parse_single_example py_func python_io random.multinomial random_poisson
    reduce_join setdiff1d space_to_depth sparse_add sparse_concat sparse_reduce_max
    sparse_reduce_sum sparse_segment_mean sparse_segment_sum sparse_split sparse_to_dense
    string_split string_to_hash_bucket string_to_number substr test.get_temp_dir to_bfloat16
    to_complex128 to_complex64 to_double to_float to_int32 to_int64 train.get_or_create_global_step
    train.summary_iterator verify_tensor_all_finite
"""
KEPT = frozenset(_KEPT.split())
"""Names that `tf.compat.v1` has and that need neither graph nor session."""

_SAME = """
    argmax: input axis / output_type name
    argmin: input axis / output_type name
    assert_equal: x y / message summarize name
    assert_greater: x y / message summarize name
    assert_less: x y / message summarize name
    assert_rank: x rank / message name
    boolean_mask: tensor mask / axis name
    cond: pred true_fn false_fn / name
    constant: value dtype shape name
    convert_to_tensor: value dtype / dtype_hint name
    device: _
    expand_dims: input axis / name
    gather: params indices validate_indices / axis batch_dims name
    gather_nd: params indices / batch_dims name
    image.crop_and_resize: image boxes _ crop_size method extrapolation_value / box_indices name
    image.draw_bounding_boxes: images boxes / colors name
    io.decode_csv: records record_defaults field_delim use_quote_delim / na_value select_cols name
    io.decode_raw: _ out_type little_endian / name
    io.parse_example: serialized features / example_names name
    io.parse_single_example: serialized features / example_names name
    linalg.norm: tensor ord axis keepdims name
    math.argmax: input axis / output_type name
    math.argmin: input axis / output_type name
    math.confusion_matrix: labels predictions num_classes / weights dtype name
    math.count_nonzero: _ axis keepdims dtype name / input
    math.log_softmax: logits axis name
    math.softmax: logits axis name
    name_scope: name
    nn.avg_pool: _ ksize strides padding data_format name
    nn.avg_pool2d: _ ksize strides padding data_format name
    nn.conv1d: _ filters stride padding / data_format dilations name input
    nn.conv2d: input _ strides padding / data_format dilations name filters
    nn.conv2d_transpose: _ _ output_shape strides padding data_format / dilations name
    nn.conv3d: input _ strides padding / data_format dilations name filters
    nn.conv3d_transpose: _ _ output_shape strides padding data_format / dilations name
    nn.convolution: input _ / padding strides data_format dilations name
    nn.crelu: features / axis name
    nn.depth_to_space: input block_size / data_format name
    nn.depthwise_conv2d: input filter strides padding / data_format dilations name
    nn.dropout: x / rate noise_shape seed name
    nn.log_softmax: logits axis name
    nn.max_pool: _ ksize strides padding data_format name
    nn.moments: x axes shift / keepdims name
    nn.separable_conv2d: input depthwise_filter pointwise_filter strides padding
        / data_format dilations name
    nn.softmax: logits axis name
    nn.softmax_cross_entropy_with_logits: / labels logits axis name
    nn.space_to_depth: input block_size / data_format name
    nn.sparse_softmax_cross_entropy_with_logits: labels logits name
    nn.weighted_cross_entropy_with_logits: labels logits pos_weight name
    norm: tensor ord axis keepdims name
    ones_like: _ dtype name
    pad: tensor paddings mode / constant_values name
    reverse_sequence: input seq_lengths seq_axis batch_axis name
    shape: input / out_type name
    size: input / out_type name
    squeeze: input axis name
    strings.length: input / unit name
    strings.reduce_join: inputs axis / keepdims separator name
    strings.substr: input pos len / unit name
    strings.to_number: _ out_type name
    transpose: a perm / conjugate name
    tuple: tensors
    where: condition
    while_loop: cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory
        / maximum_iterations name
    zeros_like: _ dtype name
"""
_REDUCTIONS = ("all", "any", "logsumexp", "max", "mean", "min", "prod", "sum")


def _read(text: str) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
    found: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
    for row in text.replace("\n        /", " /").strip().splitlines():
        name, _, given = row.strip().partition(":")
        places, _, named = given.partition("/")
        order = tuple(places.split())
        found[name] = (order, frozenset([*order, *named.split()]) - {"_"})
    return found


SAME: Mapping[str, tuple[tuple[str, ...], frozenset[str]]] = _read(_SAME) | {
    f"{home}reduce_{name}": (
        ("input_tensor", "axis", "keepdims", "name"),
        frozenset(("input_tensor", "axis", "keepdims", "name")),
    )
    for home in ("", "math.")
    for name in _REDUCTIONS
}
"""Name to the arguments with which the function of TensorFlow 2 does what that of 1 did.

They are those by position (`_` if its name differs), and those by name. A call with others keeps
the function of TensorFlow 1, as `tf.compat.v1.NAME`.
"""

_DIFFERENT = """
    COMPILER_VERSION GIT_VERSION VERSION
    batch_to_space hessians image.extract_glimpse image.resize image.sample_distorted_bounding_box
    io.serialize_many_sparse io.serialize_sparse losses.mean_squared_error math.bincount
    math.in_top_k
    nn.batch_norm_with_global_normalization nn.ctc_beam_search_decoder nn.ctc_loss nn.dilation2d
    nn.embedding_lookup nn.embedding_lookup_sparse nn.erosion2d nn.fractional_avg_pool
    nn.fractional_max_pool nn.in_top_k nn.max_pool_with_argmax nn.nce_loss nn.pool
    nn.safe_embedding_lookup_sparse nn.sampled_softmax_loss nn.space_to_batch
    nn.sufficient_statistics nn.weighted_moments random.poisson space_to_batch sparse.add
    sparse.concat sparse.reduce_max sparse.reduce_sum sparse.segment_mean sparse.segment_sqrt_n
    sparse.segment_sum sparse.split strings.split strings.to_hash_bucket
"""
DIFFERENT = frozenset(_DIFFERENT.split())
"""Names that both releases have for different functions, or that tell no release from another.

They become `tf.compat.v1.NAME`.
"""

OF_GRAPHS = (
    "contrib",
    "estimator",
    "gradients",
    "layers",
    "metrics.mean_absolute_error",
    "metrics.mean_squared_error",
    "summary.audio",
    "summary.histogram",
    "summary.image",
    "summary.scalar",
    "summary.text",
    "train.Saver",
)
"""Names that exist, or existed, for graphs only, besides those that only TensorFlow 1 has."""

STARTS = (
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "keras.layers.enable_v2_dtype_behavior",
    "contrib.eager.enable_eager_execution",
)
"""Calls that turn on what TensorFlow 2 always does."""

INITIALIZERS: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    old: row
    for names, row in (
        (
            "random_normal_initializer initializers.random_normal",
            ("RandomNormal", ("mean", "stddev", "seed"), {"stddev": "1.0"}),
        ),
        (
            "truncated_normal_initializer initializers.truncated_normal",
            ("TruncatedNormal", ("mean", "stddev", "seed"), {"stddev": "1.0"}),
        ),
        (
            "random_uniform_initializer initializers.random_uniform",
            ("RandomUniform", ("minval", "maxval", "seed"), {"minval": "0.0", "maxval": "1.0"}),
        ),
        ("constant_initializer initializers.constant", ("Constant", ("value",), {})),
        ("zeros_initializer initializers.zeros", ("Zeros", (), {})),
        ("ones_initializer initializers.ones", ("Ones", (), {})),
        (
            "glorot_uniform_initializer initializers.glorot_uniform",
            ("GlorotUniform", ("seed",), {}),
        ),
        ("glorot_normal_initializer initializers.glorot_normal", ("GlorotNormal", ("seed",), {})),
        ("initializers.he_normal", ("HeNormal", ("seed",), {})),
        ("initializers.he_uniform", ("HeUniform", ("seed",), {})),
        ("initializers.lecun_normal", ("LecunNormal", ("seed",), {})),
        ("initializers.lecun_uniform", ("LecunUniform", ("seed",), {})),
        ("orthogonal_initializer initializers.orthogonal", ("Orthogonal", ("gain", "seed"), {})),
        (
            "variance_scaling_initializer initializers.variance_scaling",
            ("VarianceScaling", ("scale", "mode", "distribution", "seed"), {}),
        ),
    )
    for old in names.split()
}
"""Initializer to that of Keras, its arguments, and the old defaults that differ from Keras."""
