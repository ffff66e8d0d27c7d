#pragma once

#include <stdexcept>
#include <string>

#include "capstan/export.h"

namespace capstan {

/// The base of every exception that Capstan throws. The text has a fixed form: `op: what is wrong, with both values`,
/// then the arguments, one per line, then `help:` where there is a single likely remedy.
class CAPSTAN_EXPORT Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Shapes that do not fit each other or the operation.
class CAPSTAN_EXPORT ShapeError : public Error {
 public:
  using Error::Error;
};

/// A dtype that the operation does not take, or two that differ.
class CAPSTAN_EXPORT DTypeError : public Error {
 public:
  using Error::Error;
};

/// An index or axis outside its range.
class CAPSTAN_EXPORT IndexError : public Error {
 public:
  using Error::Error;
};

/// Any other argument with a value that makes no sense.
class CAPSTAN_EXPORT ValueError : public Error {
 public:
  using Error::Error;
};

/// A tape used against its rules, or a gradient that does not exist.
class CAPSTAN_EXPORT GradientError : public Error {
 public:
  using Error::Error;
};

/// A traced function used against its rules: a value read that exists only at a call, a tensor of a trace used outside.
class CAPSTAN_EXPORT TraceError : public Error {
 public:
  using Error::Error;
};

/// Elements that a trace does not have are needed: by an op whose result has a shape that depends on values, as
/// `boolean_mask`, or by a conversion to a number. What fails with it while it is traced can be run without a trace.
class CAPSTAN_EXPORT ValueNeededError : public TraceError {
 public:
  using TraceError::TraceError;
};

/// A file or stream that cannot be read or written, or does not hold what it should.
class CAPSTAN_EXPORT IoError : public Error {
 public:
  using Error::Error;
};

}  // namespace capstan
