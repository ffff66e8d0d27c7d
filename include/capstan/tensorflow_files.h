// TensorFlow's checkpoints as files: what tf.train.Checkpoint and Keras's models write and read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capstan/io.h"

namespace capstan::io {

/// What a checkpoint of TensorFlow holds.
struct TensorflowCheckpoint {
  /// By key, as tf.train.list_variables shows them: "layer/kernel/.ATTRIBUTES/VARIABLE_VALUE".
  NamedArrays tensors;
  /// Tensors of texts, with the texts in order.
  std::map<std::string, std::vector<std::string>> texts = {};
  /// What the variables were called in the program that wrote them, by key: "net/dense/kernel" for Keras's layers.
  /// Empty for a checkpoint without a graph of objects.
  std::map<std::string, std::string> variable_names = {};
};

/// Reads the checkpoint with this prefix, the path of its files without ".index". Types that tensors lack become the
/// next wider one that has all their values: float16 float32; int8, int16 and uint16 int32; uint32 and uint64 int64.
///
///     io::TensorflowCheckpoint checkpoint = io::load_tensorflow_checkpoint("run/ckpt-3");
///     Tensor step = checkpoint.tensors.at("step/.ATTRIBUTES/VARIABLE_VALUE");
///
/// Errors: IoError for a checkpoint that is damaged, of a later version, big-endian, or with tensors in slices.
CAPSTAN_EXPORT TensorflowCheckpoint load_tensorflow_checkpoint(const std::string& prefix);

/// Writes tensors by the paths of attributes that lead to them, so that tf.train.Checkpoint restores them into objects
/// of this structure: "layer/kernel" into the attribute `kernel` of the object under `layer`; numbers are places in
/// lists. A dictionary's key may have a '/' or '.' in TensorFlow, but not here.
///
///     io::save_tensorflow_checkpoint("run/values", {{"step", constant(7)}, {"layer/kernel", kernel}});
///     // tf.train.Checkpoint(step=tf.Variable(0), layer=...).restore("run/values").assert_consumed()
///
/// The files are there as a whole or not at all, the index last. Errors: IoError; ValueError for names that are empty,
/// begin or end with '/', have an empty part or a '.', or that stand for a tensor and for an object with tensors.
CAPSTAN_EXPORT void save_tensorflow_checkpoint(const std::string& prefix, const std::map<std::string, Tensor>& tensors);

}  // namespace capstan::io
