"""The public names of Keras 3 where Keras 2 had names as well; a test asks the installed Keras."""

from __future__ import annotations

from collections.abc import Mapping

PUBLIC: Mapping[str, frozenset[str]] = {
    home: frozenset(names.split())
    for home, names in {
        "keras": (
            "DTypePolicy FloatDTypePolicy Function Initializer Input InputSpec KerasTensor Layer "
            "Loss Metric Model Operation Optimizer Quantizer Regularizer RematScope Sequential "
            "StatelessScope SymbolicScope Variable activations applications backend callbacks "
            "config constraints datasets device distillation distribution dtype_policies export "
            "initializers layers legacy losses metrics mixed_precision models name_scope ops "
            "optimizers preprocessing quantizers random regularizers remat saving tree utils "
            "version visualization wrappers"
        ),
        "keras.activations": (
            "celu deserialize elu exponential gelu get glu hard_shrink hard_sigmoid hard_silu "
            "hard_swish hard_tanh leaky_relu linear log_sigmoid log_softmax mish relu relu6 selu "
            "serialize sigmoid silu soft_shrink softmax softplus softsign sparse_plus "
            "sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink threshold"
        ),
        "keras.applications": (
            "ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge DenseNet121 "
            "DenseNet169 DenseNet201 EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 "
            "EfficientNetB4 EfficientNetB5 EfficientNetB6 EfficientNetB7 EfficientNetV2B0 "
            "EfficientNetV2B1 EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2L EfficientNetV2M "
            "EfficientNetV2S InceptionResNetV2 InceptionV3 MobileNet MobileNetV2 MobileNetV3Large "
            "MobileNetV3Small NASNetLarge NASNetMobile ResNet101 ResNet101V2 ResNet152 "
            "ResNet152V2 ResNet50 ResNet50V2 VGG16 VGG19 Xception convnext densenet efficientnet "
            "efficientnet_v2 imagenet_utils inception_resnet_v2 inception_v3 mobilenet "
            "mobilenet_v2 mobilenet_v3 nasnet resnet resnet50 resnet_v2 vgg16 vgg19 xception"
        ),
        "keras.applications.convnext": (
            "ConvNeXtBase ConvNeXtLarge ConvNeXtSmall ConvNeXtTiny ConvNeXtXLarge "
            "decode_predictions preprocess_input"
        ),
        "keras.applications.densenet": (
            "DenseNet121 DenseNet169 DenseNet201 decode_predictions preprocess_input"
        ),
        "keras.applications.efficientnet": (
            "EfficientNetB0 EfficientNetB1 EfficientNetB2 EfficientNetB3 EfficientNetB4 "
            "EfficientNetB5 EfficientNetB6 EfficientNetB7 decode_predictions preprocess_input"
        ),
        "keras.applications.efficientnet_v2": (
            "EfficientNetV2B0 EfficientNetV2B1 EfficientNetV2B2 EfficientNetV2B3 EfficientNetV2L "
            "EfficientNetV2M EfficientNetV2S decode_predictions preprocess_input"
        ),
        "keras.applications.imagenet_utils": "decode_predictions preprocess_input",
        "keras.applications.inception_resnet_v2": (
            "InceptionResNetV2 decode_predictions preprocess_input"
        ),
        "keras.applications.inception_v3": "InceptionV3 decode_predictions preprocess_input",
        "keras.applications.mobilenet": "MobileNet decode_predictions preprocess_input",
        "keras.applications.mobilenet_v2": "MobileNetV2 decode_predictions preprocess_input",
        "keras.applications.mobilenet_v3": "decode_predictions preprocess_input",
        "keras.applications.nasnet": "NASNetLarge NASNetMobile decode_predictions preprocess_input",
        "keras.applications.resnet": (
            "ResNet101 ResNet152 ResNet50 decode_predictions preprocess_input"
        ),
        "keras.applications.resnet50": "ResNet50 decode_predictions preprocess_input",
        "keras.applications.resnet_v2": (
            "ResNet101V2 ResNet152V2 ResNet50V2 decode_predictions preprocess_input"
        ),
        "keras.applications.vgg16": "VGG16 decode_predictions preprocess_input",
        "keras.applications.vgg19": "VGG19 decode_predictions preprocess_input",
        "keras.applications.xception": "Xception decode_predictions preprocess_input",
        "keras.callbacks": (
            "BackupAndRestore CSVLogger Callback CallbackList EarlyStopping History "
            "LambdaCallback LearningRateScheduler ModelCheckpoint OrbaxCheckpoint ProgbarLogger "
            "ReduceLROnPlateau RemoteMonitor SwapEMAWeights TensorBoard TerminateOnNaN"
        ),
        "keras.constraints": (
            "Constraint MaxNorm MinMaxNorm NonNeg UnitNorm deserialize get max_norm min_max_norm "
            "non_neg serialize unit_norm"
        ),
        "keras.datasets": (
            "boston_housing california_housing cifar10 cifar100 fashion_mnist imdb mnist "
            "reuters"
        ),
        "keras.datasets.boston_housing": "load_data",
        "keras.datasets.california_housing": "load_data",
        "keras.datasets.cifar10": "load_data",
        "keras.datasets.cifar100": "load_data",
        "keras.datasets.fashion_mnist": "load_data",
        "keras.datasets.imdb": "get_word_index load_data",
        "keras.datasets.mnist": "load_data",
        "keras.datasets.reuters": "get_label_names get_word_index load_data",
        "keras.initializers": (
            "Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer "
            "Initializer LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer "
            "RandomNormal RandomUniform STFT STFTInitializer TruncatedNormal VarianceScaling "
            "Zeros constant deserialize get glorot_normal glorot_uniform he_normal he_uniform "
            "identity lecun_normal lecun_uniform ones orthogonal random_normal random_uniform "
            "serialize stft truncated_normal variance_scaling zeros"
        ),
        "keras.layers": (
            "Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D "
            "AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D "
            "AdaptiveMaxPooling3D Add AdditiveAttention AlphaDropout Attention AugMix "
            "AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D AvgPool1D "
            "AvgPool2D AvgPool3D BatchNormalization Bidirectional CategoryEncoding CenterCrop "
            "Concatenate ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose "
            "Conv2D Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D "
            "Convolution1D Convolution1DTranspose Convolution2D Convolution2DTranspose "
            "Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CutMix Dense "
            "DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding "
            "Equalization Flatten FlaxLayer GRU GRUCell GaussianDropout GaussianNoise "
            "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D "
            "GlobalAvgPool2D GlobalAvgPool3D GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D "
            "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D GroupNormalization "
            "GroupQueryAttention HashedCrossing Hashing Identity Input InputLayer InputSpec "
            "IntegerLookup JaxLayer LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU "
            "Masking MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D "
            "MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention Multiply "
            "Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment "
            "RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast RandomCrop "
            "RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale "
            "RandomHeight RandomHue RandomInvert RandomPerspective RandomPosterization "
            "RandomRotation RandomSaturation RandomSharpness RandomShear RandomTranslation "
            "RandomWidth RandomZoom ReLU RepeatVector Rescaling Reshape Resizing "
            "ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D "
            "SeparableConvolution1D SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax "
            "Solarization SpatialDropout1D SpatialDropout2D SpatialDropout3D "
            "SpectralNormalization StackedRNNCells StringLookup Subtract TFSMLayer "
            "TextVectorization ThresholdedReLU TimeDistributed TorchModuleWrapper "
            "UnitNormalization UpSampling1D UpSampling2D UpSampling3D Wrapper ZeroPadding1D "
            "ZeroPadding2D ZeroPadding3D add average concatenate deserialize dot maximum minimum "
            "multiply serialize subtract"
        ),
        "keras.losses": (
            "BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy "
            "CategoricalFocalCrossentropy CategoricalGeneralizedCrossEntropy CategoricalHinge "
            "Circle CosineSimilarity Dice Hinge Huber KLD KLDivergence LogCosh Loss MAE MAPE MSE "
            "MSLE MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError "
            "MeanSquaredLogarithmicError Poisson Reduction SparseCategoricalCrossentropy "
            "SquaredHinge Tversky binary_crossentropy binary_focal_crossentropy "
            "categorical_crossentropy categorical_focal_crossentropy "
            "categorical_generalized_cross_entropy categorical_hinge circle cosine_similarity ctc "
            "deserialize dice get hinge huber kl_divergence kld kullback_leibler_divergence "
            "log_cosh logcosh mae mape mean_absolute_error mean_absolute_percentage_error "
            "mean_squared_error mean_squared_logarithmic_error mse msle poisson serialize "
            "sparse_categorical_crossentropy squared_hinge tversky"
        ),
        "keras.metrics": (
            "AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy "
            "CategoricalCrossentropy CategoricalHinge ConcordanceCorrelation CosineSimilarity "
            "F1Score FBetaScore FalseNegatives FalsePositives Hinge IoU KLD KLDivergence "
            "LogCoshError MAE MAPE MSE MSLE Mean MeanAbsoluteError MeanAbsolutePercentageError "
            "MeanIoU MeanMetricWrapper MeanSquaredError MeanSquaredLogarithmicError Metric "
            "OneHotIoU OneHotMeanIoU PearsonCorrelation Poisson Precision PrecisionAtRecall "
            "R2Score Recall RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity "
            "SparseCategoricalAccuracy SparseCategoricalCrossentropy "
            "SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum "
            "TopKCategoricalAccuracy TrueNegatives TruePositives binary_accuracy "
            "binary_crossentropy binary_focal_crossentropy categorical_accuracy "
            "categorical_crossentropy categorical_focal_crossentropy categorical_hinge "
            "concordance_correlation deserialize get hinge huber kl_divergence kld "
            "kullback_leibler_divergence log_cosh logcosh mae mape mean_absolute_error "
            "mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse "
            "msle pearson_correlation poisson serialize sparse_categorical_accuracy "
            "sparse_categorical_crossentropy sparse_top_k_categorical_accuracy squared_hinge "
            "top_k_categorical_accuracy"
        ),
        "keras.mixed_precision": (
            "DTypePolicy LossScaleOptimizer Policy dtype_policy global_policy set_dtype_policy "
            "set_global_policy"
        ),
        "keras.models": "Model Sequential clone_model load_model model_from_json save_model",
        "keras.optimizers": (
            "Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer "
            "MultiOptimizer Muon Nadam Optimizer OptimizerMap RMSprop SGD ScheduleFreeAdamW "
            "deserialize get legacy schedules serialize"
        ),
        "keras.optimizers.schedules": (
            "CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay "
            "LearningRateSchedule PiecewiseConstantDecay PolynomialDecay deserialize serialize"
        ),
        "keras.preprocessing": (
            "image image_dataset_from_directory sequence text text_dataset_from_directory "
            "timeseries_dataset_from_array"
        ),
        "keras.preprocessing.image": (
            "DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator "
            "apply_affine_transform apply_brightness_shift apply_channel_shift array_to_img "
            "img_to_array load_img random_brightness random_channel_shift random_rotation "
            "random_shear random_shift random_zoom save_img smart_resize"
        ),
        "keras.preprocessing.sequence": (
            "TimeseriesGenerator make_sampling_table pad_sequences skipgrams"
        ),
        "keras.preprocessing.text": (
            "Tokenizer hashing_trick one_hot text_to_word_sequence tokenizer_from_json"
        ),
        "keras.regularizers": (
            "L1 L1L2 L2 OrthogonalRegularizer Regularizer deserialize get l1 l1_l2 l2 "
            "orthogonal_regularizer serialize"
        ),
        "keras.utils": (
            "Config CustomObjectScope FeatureSpace Progbar PyDataset Sequence array_to_img "
            "audio_dataset_from_directory bounding_boxes clear_session custom_object_scope "
            "deserialize_keras_object disable_interactive_logging enable_interactive_logging "
            "get_custom_objects get_file get_registered_name get_registered_object "
            "get_source_inputs image_dataset_from_directory img_to_array "
            "is_interactive_logging_enabled is_keras_tensor legacy load_img model_to_dot "
            "normalize pack_x_y_sample_weight pad_sequences plot_model "
            "register_keras_serializable save_img serialize_keras_object set_random_seed "
            "split_dataset standardize_dtype text_dataset_from_directory "
            "timeseries_dataset_from_array to_categorical unpack_x_y_sample_weight"
        ),
        "keras.wrappers": "SKLearnClassifier SKLearnRegressor SKLearnTransformer",
    }.items()
}  # fmt: skip
"""Module to its names, in `tensorflow.keras`, in `keras`, or both."""
OF_TENSORFLOW: Mapping[str, frozenset[str]] = {
    home: frozenset(names.split())
    for home, names in {
        "keras.layers": "RandomHeight RandomWidth ThresholdedReLU",
        "keras.losses": (
            "KLD MAE MAPE MSE MSLE Reduction kld kullback_leibler_divergence logcosh mae mape mse "
            "msle"
        ),
        "keras.metrics": (
            "KLD MAE MAPE MSE MSLE kld kullback_leibler_divergence logcosh mae mape mse msle"
        ),
        "keras.preprocessing": "text",
        "keras.preprocessing.image": (
            "DirectoryIterator ImageDataGenerator Iterator NumpyArrayIterator "
            "apply_affine_transform apply_brightness_shift apply_channel_shift random_brightness "
            "random_channel_shift random_rotation random_shear random_shift random_zoom"
        ),
        "keras.preprocessing.sequence": "TimeseriesGenerator make_sampling_table skipgrams",
        "keras.preprocessing.text": (
            "Tokenizer hashing_trick one_hot text_to_word_sequence tokenizer_from_json"
        ),
    }.items()
}  # fmt: skip
"""Names that only `tensorflow.keras` has."""
OPEN = frozenset((
    "backend", "config", "distillation", "distribution", "dtype_policies", "export", "legacy",
    "ops", "quantizers", "random", "saving", "tree", "visualization",
))  # fmt: skip
"""Modules that are not listed: Keras 2 did not have them, or others look at them."""
