// Special functions against values that were computed with 40 digits (mpmath), and at the ends of their domains.
#include "src/kernels/special/special_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace capstan::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Known {
  const char* function;
  std::vector<double> arguments;
  double value;
};

const std::vector<Known>& known_values() {
  static const std::vector<Known> values = {
      {"erfinv", {1e-05}, 8.8622692547595945e-6},
      {"erfinv", {0.3}, 0.27246271472675435},
      {"erfinv", {-0.75}, -0.81341984759761854},
      {"erfinv", {0.9999}, 2.7510639057120797},
      {"erfcinv", {1e-200}, 21.374783049026258},
      {"erfcinv", {0.001}, 2.3267537655135247},
      {"erfcinv", {0.8}, 0.17914345462129164},
      {"erfcinv", {1.5}, -0.47693627620446987},
      {"ndtri", {1e-100}, -21.273453560965324},
      {"ndtri", {0.01}, -2.3263478740408411},
      {"ndtri", {0.5001}, 0.00025066283008800749},
      {"ndtri", {0.99}, 2.3263478740408408},
      {"dawsn", {0.1}, 0.099335992397852867},
      {"dawsn", {0.9}, 0.54072431872629868},
      {"dawsn", {-5.0}, -0.10213407442427684},
      {"dawsn", {30.0}, 0.016675941401059176},
      {"fresnel_cos", {0.3}, 0.2994009760520472},
      {"fresnel_cos", {1.5}, 0.44526117603982154},
      {"fresnel_cos", {1.7}, 0.32382687600390026},
      {"fresnel_cos", {20.0}, 0.49998733497234439},
      {"fresnel_sin", {0.3}, 0.014116998006576584},
      {"fresnel_sin", {1.5}, 0.69750496008209301},
      {"fresnel_sin", {1.7}, 0.54919594032156854},
      {"fresnel_sin", {-20.0}, -0.48408453592595389},
      {"expint", {-20.0}, -9.8355252906498817e-11},
      {"expint", {-0.5}, -0.55977359477616081},
      {"expint", {0.1}, -1.6228128139692766},
      {"expint", {3.0}, 9.9338325706254166},
      {"expint", {100.0}, 2.7155527448538798e+41},
      {"spence", {0.1}, 1.2997147230049587},
      {"spence", {0.75}, 0.26765263908273261},
      {"spence", {1.5}, -0.4484142069236462},
      {"spence", {50.0}, -9.1977617095309979},
      {"bessel_i0", {0.5}, 1.0634833707413235},
      {"bessel_i0", {15.0}, 339649.37329791388},
      {"bessel_i0", {100.0}, 1.0737517071310738e+42},
      {"bessel_i1", {0.5}, 0.25789430539089632},
      {"bessel_i1", {-15.0}, -328124.9219702064},
      {"bessel_i1", {100.0}, 1.0683693903381625e+42},
      {"bessel_i0e", {0.5}, 0.64503527044915007},
      {"bessel_i0e", {-25.0}, 0.080196773547436708},
      {"bessel_i0e", {1000.0}, 0.012617240455891257},
      {"bessel_i1e", {0.5}, 0.1564208031848717},
      {"bessel_i1e", {-25.0}, -0.078576113319292772},
      {"bessel_i1e", {1000.0}, 0.012610930256928629},
      {"bessel_k0", {0.01}, 4.7212447301610949},
      {"bessel_k0", {0.5}, 0.92441907122766586},
      {"bessel_k0", {50.0}, 3.4101677497894955e-23},
      {"bessel_k1", {0.01}, 99.973894118296246},
      {"bessel_k1", {0.5}, 1.6564411200033009},
      {"bessel_k1", {50.0}, 3.4441022267175556e-23},
      {"bessel_k0e", {0.01}, 4.7686940285444619},
      {"bessel_k0e", {3.0}, 0.69776159804385178},
      {"bessel_k0e", {5000.0}, 0.017724095445432316},
      {"bessel_k1e", {0.01}, 100.97864845824005},
      {"bessel_k1e", {3.0}, 0.8065634801287869},
      {"bessel_k1e", {5000.0}, 0.017725867766374101},
      {"bessel_j0", {0.5}, 0.9384698072408129},
      {"bessel_j0", {20.0}, 0.16702466434058315},
      {"bessel_j1", {0.5}, 0.24226845767487389},
      {"bessel_j1", {20.0}, 0.066833124175850046},
      {"bessel_y0", {0.5}, -0.44451873350670656},
      {"bessel_y0", {20.0}, 0.062640596809383831},
      {"bessel_y1", {0.5}, -1.4714723926702431},
      {"bessel_y1", {20.0}, -0.1655116143625213},
      {"zeta", {1.5, 1.0}, 2.6123753486854883},
      {"zeta", {3.0, 0.25}, 64.66386996876846},
      {"zeta", {10.0, 30.0}, 6.5387111291425484e-15},
      {"zeta", {4.0, -2.5}, 32.457979369864604},
      {"igamma", {0.1, 0.01}, 0.66262125995447979},
      {"igamma", {2.5, 2.0}, 0.45058404864721977},
      {"igamma", {30.0, 50.0}, 0.99908317113854392},
      {"igamma", {1000.0, 950.0}, 0.055054686230738034},
      {"igammac", {0.1, 0.5}, 0.058597554109866481},
      {"igammac", {0.01, 1e-05}, 0.1036632017328028},
      {"igammac", {2.5, 9.0}, 0.0029464045878802904},
      {"igammac", {30.0, 200.0}, 9.8184699371507937e-52},
      {"igammac", {1000.0, 1100.0}, 0.0010593232539299773},
      {"igamma_grad_a", {0.1, 0.01}, -2.7761608124254223},
      {"igamma_grad_a", {2.5, 2.0}, -0.27455132194588155},
      {"igamma_grad_a", {2.5, 9.0}, -0.0047416795481938814},
      {"igamma_grad_a", {1000.0, 950.0}, -0.0035511271648094759},
      {"random_gamma_grad", {0.1, 0.01}, 0.42279343812970282},
      {"random_gamma_grad", {2.5, 2.0}, 0.9534627029186165},
      {"random_gamma_grad", {2.5, 9.0}, 1.891711800090848},
      {"random_gamma_grad", {1000.0, 950.0}, 0.97473502369716372},
      {"betainc", {0.5, 0.5, 0.1}, 0.20483276469913346},
      {"betainc", {2.0, 3.0, 0.7}, 0.91629999999999997},
      {"betainc", {40.0, 60.0, 0.3}, 0.017592508468930076},
      {"betainc", {500.0, 200.0, 0.75}, 0.98370833028262251},
      {"log_beta", {0.5, 0.25}, 1.6571065161914822},
      {"log_beta", {3.0, 500.0}, -17.95666713863884},
      {"log_beta", {200.0, 300.0}, -337.98011306546467},
  };
  return values;
}

double value_of(const Known& known) {
  static const std::map<std::string, double (*)(double)> of_one = {
      {"erfinv", erfinv},         {"erfcinv", erfcinv},         {"ndtri", ndtri},
      {"dawsn", dawsn},           {"fresnel_cos", fresnel_cos}, {"fresnel_sin", fresnel_sin},
      {"expint", expint},         {"spence", spence},           {"bessel_i0", bessel_i0},
      {"bessel_i1", bessel_i1},   {"bessel_i0e", bessel_i0e},   {"bessel_i1e", bessel_i1e},
      {"bessel_k0", bessel_k0},   {"bessel_k1", bessel_k1},     {"bessel_k0e", bessel_k0e},
      {"bessel_k1e", bessel_k1e}, {"bessel_j0", bessel_j0},     {"bessel_j1", bessel_j1},
      {"bessel_y0", bessel_y0},   {"bessel_y1", bessel_y1},
  };
  static const std::map<std::string, double (*)(double, double)> of_two = {
      {"zeta", zeta},
      {"igamma", igamma},
      {"igammac", igammac},
      {"igamma_grad_a", igamma_grad_a},
      {"random_gamma_grad", random_gamma_grad},
      {"log_beta", log_beta},
  };
  const std::vector<double>& x = known.arguments;
  if (x.size() == 1) return of_one.at(known.function)(x[0]);
  if (x.size() == 2) return of_two.at(known.function)(x[0], x[1]);
  return betainc(x[0], x[1], x[2]);
}

TEST(SpecialMath, AgreesWithValuesOfFortyDigits) {
  for (const Known& known : known_values()) {
    EXPECT_NEAR(value_of(known) / known.value, 1, 2e-13) << known.function << "(" << known.arguments[0] << ", ...)";
  }
}

TEST(SpecialMath, DigammaAndItsDerivatives) {
  const auto near = [](double value, double exact) { return std::fabs(value - exact) <= 4e-14 * std::fabs(exact); };
  EXPECT_PRED2(near, digamma(1.0), -0.57721566490153286);
  EXPECT_PRED2(near, digamma(-0.5), 0.036489973978576520);
  EXPECT_PRED2(near, digamma(100.0), 4.6001618527380874);
  EXPECT_PRED2(near, polygamma(1, 1.399), 1.0263466300902668);
  EXPECT_PRED2(near, polygamma(2, 0.78), -4.7531125850421363);
  EXPECT_PRED2(near, polygamma(3, 0.261), 1295.6642487168522);
  EXPECT_PRED2(near, polygamma(1, -0.5), 8.934802200544679);
  EXPECT_PRED2(near, polygamma(3, -1.3), 768.72065719904265);
  EXPECT_TRUE(std::isnan(digamma(0.0)));
  EXPECT_TRUE(std::isnan(digamma(-3.0)));
  EXPECT_EQ(polygamma(1, 0.0), kInfinity);
  EXPECT_TRUE(std::isnan(polygamma(0.5, 1.0)));
}

TEST(SpecialMath, IncompleteGammaOfInfinity) {
  EXPECT_EQ(igamma(kInfinity, 1), 0);
  EXPECT_EQ(igamma(kInfinity, 0), 0);
  EXPECT_EQ(igamma(1, kInfinity), 1);
  EXPECT_EQ(igammac(kInfinity, 1), 1);
  EXPECT_EQ(igammac(1, kInfinity), 0);
  EXPECT_EQ(igamma_grad_a(kInfinity, 1), 0);
  // TensorFlow's, where there is no limit.
  EXPECT_EQ(igamma(kInfinity, kInfinity), 0);
  EXPECT_EQ(igammac(kInfinity, kInfinity), 0);
}

TEST(SpecialMath, ConvergesForLargeParameters) {
  // At the mean, where the number of steps is largest; the limit is that of the normal distribution.
  for (const double a : {1e5, 9.9e5, 1.1e6, 1e9, 1e15}) {
    EXPECT_NEAR(igamma(a, a), 0.5 + 1 / (3 * std::sqrt(2 * 3.14159265358979 * a)), 1e-7) << a;
    EXPECT_NEAR(igamma(a, a) + igammac(a, a), 1, 1e-12) << a;
    EXPECT_NEAR(random_gamma_grad(a, a), 1, 1e-3) << a;
  }
  // The two sides of the change of method.
  EXPECT_NEAR(igamma(999'999, 1'000'500) / igamma(1'000'001, 1'000'502), 1, 1e-6);
  EXPECT_NEAR(igamma_grad_a(999'999, 1'000'500) / igamma_grad_a(1'000'001, 1'000'502), 1, 1e-5);
  EXPECT_NEAR(betainc(1e6, 1e6, 0.5), 0.5, 1e-10);
  EXPECT_FALSE(std::isinf(betainc(1e300, 1e300, 0.5)));
  EXPECT_EQ(zeta(2, -1e18), kInfinity);
}

TEST(SpecialMath, EndsOfDomains) {
  EXPECT_EQ(erfinv(1), kInfinity);
  EXPECT_EQ(erfinv(-1), -kInfinity);
  EXPECT_EQ(erfcinv(0), kInfinity);
  EXPECT_EQ(ndtri(1), kInfinity);
  EXPECT_EQ(igamma(2, 0), 0);
  EXPECT_EQ(igamma(2, kInfinity), 1);
  EXPECT_EQ(igammac(2, 0), 1);
  EXPECT_EQ(betainc(2, 3, 0), 0);
  EXPECT_EQ(betainc(2, 3, 1), 1);
  EXPECT_EQ(expint(0), -kInfinity);
  EXPECT_EQ(spence(1), 0);
  EXPECT_EQ(bessel_k0(0), kInfinity);
  EXPECT_EQ(bessel_i0e(kInfinity), 0);
  EXPECT_EQ(zeta(1, 2), kInfinity);
  EXPECT_EQ(fresnel_cos(kInfinity), 0.5);
  EXPECT_EQ(dawsn(kInfinity), 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double x : {erfinv(1.5), erfcinv(-1), ndtri(nan), igamma(-1, 1), igamma(1, -1), igammac(nan, 1),
                         betainc(0, 1, 0.5), betainc(1, 1, 2), spence(-1), bessel_k1(-1), bessel_y0(-1), zeta(0.5, 1),
                         zeta(2.5, -0.5), dawsn(nan), fresnel_sin(nan), expint(nan), bessel_i0(nan), bessel_k0e(nan)}) {
    EXPECT_TRUE(std::isnan(x));
  }
}

}  // namespace
}  // namespace capstan::special
