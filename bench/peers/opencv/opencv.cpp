/* SPDX-License-Identifier: MIT */
/* OpenCV as a peer, where it has an operation that corresponds to an app or to a program of bench/opencv.
 *
 * Variants called `same` compute what the app computes, up to rounding; the others are named by the operation, and say
 * what they compute instead: neither their results nor their times are to be compared. OpenCV keeps the channels of a
 * pixel together, so images are brought into that form before the runs, as its users have them, and the result of a
 * first run is brought back; neither is timed.
 */
#include "../peer.h"

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <cmath>
#include <functional>

namespace
{

struct Work {
    std::function<void()> run;
    cv::Mat               result; /* planar results are views of call->out */
};

void run(PeerCall *call)
{
    static_cast<Work *>(call->state)->run();
}

/* A plane of an array, as an image without a copy. */
cv::Mat plane(const PeerArray &a, int type, int c = 0)
{
    const size_t bytes = static_cast<size_t>(a.size[0]) * a.size[1] * a.bytes;
    return cv::Mat(a.size[1], a.size[0], type, static_cast<char *>(a.data) + c * bytes);
}

/* The three planes of an array as one image of three channels. */
cv::Mat interleaved(const PeerArray &a, int depth)
{
    cv::Mat m;
    cv::merge(std::vector<cv::Mat>{ plane(a, CV_MAKETYPE(depth, 1), 0), plane(a, CV_MAKETYPE(depth, 1), 1),
                                    plane(a, CV_MAKETYPE(depth, 1), 2) },
              m);
    return m;
}

/* Begins a setup; `instead` is nullptr where the operation is the app's. */
Work *start(PeerCall *call, const char *instead)
{
    cv::setNumThreads(call->threads);
    call->instead = instead;
    Work *w       = new Work;
    call->state   = w;
    call->run     = run;
    return w;
}

/* The result of a run with its channels together goes to the planes of the output, once, before the runs that count. */
void finish(PeerCall *call, Work *w, int depth)
{
    w->run();
    for (int c = 0; c < call->out.size[2]; c++) {
        cv::Mat to = plane(call->out, CV_MAKETYPE(depth, 1), c);
        cv::extractChannel(w->result, to, c);
    }
}

/* 3x3 means of u16, rounded once and not twice; sums do not wrap. */
void blur_box(PeerCall *call)
{
    static const PeerArray in = peer_input(call, "in", "u16", 2);
    peer_output(call, "u16", 2, in.size[0] - 2, in.size[1] - 2, 1, 1);
    Work         *w     = start(call, "means of 3x3 rounded once, whose sums do not wrap");
    const cv::Mat inner = plane(in, CV_16U)(cv::Rect(1, 1, in.size[0] - 2, in.size[1] - 2));
    cv::Mat       out   = plane(call->out, CV_16U);
    w->run              = [=]() mutable {
        cv::blur(inner, out, cv::Size(3, 3));
    }; /* reads the pixels around `inner`, as they are there */
}

/* The app's formula, a matrix operation at a time; the border is replicated, the blur is OpenCV's with the app's
 * weights. */
void unsharp(PeerCall *call)
{
    static const PeerArray in    = peer_input(call, "in", "f32", 3);
    const float            sigma = static_cast<float>(peer_number(call, "sigma", 1.5));
    peer_output(call, "f32", 3, in.size[0], in.size[1], 3, 1);
    Work   *w = start(call, nullptr);
    cv::Mat kernel(7, 1, CV_32F);
    for (int i = -3; i <= 3; i++)
        kernel.at<float>(i + 3) =
            std::exp(static_cast<float>(-i * i) / (2 * sigma * sigma)) / (std::sqrt(2 * 3.14159265f) * sigma);
    const cv::Mat image = interleaved(in, CV_32F);
    w->result.create(image.size(), CV_32FC3);
    w->run = [=]() {
        cv::Mat gray, smooth, ratio, three;
        cv::cvtColor(image, gray, cv::COLOR_RGB2GRAY);
        cv::sepFilter2D(gray, smooth, CV_32F, kernel, kernel, cv::Point(-1, -1), 0, cv::BORDER_REPLICATE);
        cv::addWeighted(gray, 2, smooth, -1, 0, ratio);
        cv::divide(ratio, gray, ratio);
        cv::merge(std::vector<cv::Mat>{ ratio, ratio, ratio }, three);
        cv::multiply(image, three, w->result);
    };
    finish(call, w, CV_32F);
}

/* Gaussian blur and a weighted sum per channel: another sharpening. */
void unsharp_simple(PeerCall *call)
{
    static const PeerArray in = peer_input(call, "in", "f32", 3);
    peer_output(call, "f32", 3, in.size[0], in.size[1], 3, 1);
    Work         *w     = start(call, "each channel less its own blur");
    const cv::Mat image = interleaved(in, CV_32F);
    w->result.create(image.size(), CV_32FC3);
    w->run = [=]() {
        cv::Mat smooth;
        cv::GaussianBlur(image, smooth, cv::Size(7, 7), 1.5, 1.5, cv::BORDER_REPLICATE);
        cv::addWeighted(image, 2, smooth, -1, 0, w->result);
    };
    finish(call, w, CV_32F);
}

/* cornerHarris: Sobel and box filters scaled otherwise, and a border. */
void harris_corner(PeerCall *call)
{
    static const PeerArray in = peer_input(call, "in", "f32", 3);
    peer_output(call, "f32", 2, in.size[0], in.size[1], 1, 1);
    Work         *w     = start(call, "filters scaled otherwise, and a border");
    const cv::Mat image = interleaved(in, CV_32F);
    cv::Mat       out   = plane(call->out, CV_32F);
    w->run              = [=]() mutable {
        cv::Mat gray;
        cv::cvtColor(image, gray, cv::COLOR_RGB2GRAY);
        cv::cornerHarris(gray, out, 3, 3, 0.04);
    };
}

/* The exact bilateral filter in a window of 9, not the grid. */
void bilateral_exact(PeerCall *call)
{
    static const PeerArray in      = peer_input(call, "in", "f32", 2);
    const double           r_sigma = peer_number(call, "r_sigma", 0.1), s_sigma = peer_number(call, "s_sigma", 8);
    peer_output(call, "f32", 2, in.size[0], in.size[1], 1, 1);
    Work         *w     = start(call, "the exact filter in a window of 9, no grid");
    const cv::Mat image = plane(in, CV_32F);
    cv::Mat       out   = plane(call->out, CV_32F);
    w->run              = [=]() mutable { cv::bilateralFilter(image, out, 9, r_sigma, s_sigma, cv::BORDER_REPLICATE); };
}

/* Dilation by an ellipse: a disc that is one pixel lower in the columns than the app's. */
void dilate_ellipse(PeerCall *call)
{
    static const PeerArray in   = peer_input(call, "in", "f32", 3);
    const int              size = 2 * static_cast<int>(peer_number(call, "radius", 26)) + 1;
    peer_output(call, "f32", 3, in.size[0], in.size[1], in.size[2], 1);
    Work         *w     = start(call, "a disc that is one pixel lower in its columns");
    const cv::Mat image = interleaved(in, CV_32F),
                  disc  = cv::getStructuringElement(cv::MORPH_ELLIPSE, cv::Size(size, size));
    w->result.create(image.size(), CV_32FC3);
    w->run = [=]() { cv::dilate(image, w->result, disc, cv::Point(-1, -1), 1, cv::BORDER_REPLICATE); };
    finish(call, w, CV_32F);
}

/* To YCrCb, equalizeHist of the luma, and back: chroma rounded to u8, other constants. */
void hist_ycrcb(PeerCall *call)
{
    static const PeerArray in = peer_input(call, "in", "u8", 3);
    peer_output(call, "u8", 3, in.size[0], in.size[1], 3, 1);
    Work         *w     = start(call, "luma and chroma in u8, other constants");
    const cv::Mat image = interleaved(in, CV_8U);
    w->result.create(image.size(), CV_8UC3);
    w->run = [=]() {
        cv::Mat ycc, luma;
        cv::cvtColor(image, ycc, cv::COLOR_RGB2YCrCb);
        cv::extractChannel(ycc, luma, 0);
        cv::equalizeHist(luma, luma);
        cv::insertChannel(luma, ycc, 0);
        cv::cvtColor(ycc, w->result, cv::COLOR_YCrCb2RGB);
    };
    finish(call, w, CV_8U);
}

void mat_mul(PeerCall *call)
{
    static const PeerArray A = peer_input(call, "A", "f32", 2), B = peer_input(call, "B", "f32", 2);
    peer_output(call, "f32", 2, A.size[0], A.size[1], 1, 1);
    Work         *w = start(call, nullptr);
    const cv::Mat a = plane(A, CV_32F), b = plane(B, CV_32F);
    cv::Mat       out = plane(call->out, CV_32F);
    w->run            = [=]() mutable { cv::gemm(a, b, 1, cv::noArray(), 0, out); };
}

/* Opening or closing by a square of 41x41; the top hat is what an opening takes away. */
void morphology(PeerCall *call, int operation)
{
    static const PeerArray in = peer_input(call, "in", "u8", 2);
    peer_output(call, "u8", 2, in.size[0], in.size[1], 1, 1);
    Work         *w     = start(call, nullptr);
    const cv::Mat image = plane(in, CV_8U), square = cv::getStructuringElement(cv::MORPH_RECT, cv::Size(41, 41));
    cv::Mat       out = plane(call->out, CV_8U);
    w->run            = [=]() mutable {
        cv::morphologyEx(image, out, operation, square, cv::Point(-1, -1), 1, cv::BORDER_REPLICATE);
    };
}

void opening41(PeerCall *call)
{
    morphology(call, cv::MORPH_TOPHAT);
}

void closing41(PeerCall *call)
{
    morphology(call, cv::MORPH_CLOSE);
}

/* Turned and scaled by 0.15 and 0.9 around the middle. OpenCV rounds places to 1/32 of a pixel. */
void warp(PeerCall *call)
{
    static const PeerArray in = peer_input(call, "in", "u8", 3);
    peer_output(call, "u8", 3, in.size[0], in.size[1], 3, 1);
    Work         *w = start(call, nullptr);
    const double  c = std::cos(0.15) / 0.9, s = std::sin(0.15) / 0.9, x = 0.5 * in.size[0], y = 0.5 * in.size[1];
    const cv::Mat back  = (cv::Mat_<double>(2, 3) << c, -s, x - c * x + s * y, s, c, y - s * x - c * y);
    const cv::Mat image = interleaved(in, CV_8U);
    w->result.create(image.size(), CV_8UC3);
    w->run = [=]() {
        cv::warpAffine(image, w->result, back, image.size(), cv::INTER_LINEAR | cv::WARP_INVERSE_MAP,
                       cv::BORDER_CONSTANT);
    };
    finish(call, w, CV_8U);
}

void shrink(PeerCall *call, int by)
{
    static const PeerArray in = peer_input(call, "in", "u8", 3);
    peer_output(call, "u8", 3, in.size[0] / by, in.size[1] / by, 3, 1);
    Work          *w     = start(call, nullptr);
    const cv::Mat  image = interleaved(in, CV_8U);
    const cv::Size size(in.size[0] / by, in.size[1] / by);
    w->result.create(size, CV_8UC3);
    w->run = [=]() { cv::resize(image, w->result, size, 0, 0, cv::INTER_AREA); };
    finish(call, w, CV_8U);
}

void shrink2(PeerCall *call)
{
    shrink(call, 2);
}

void shrink3(PeerCall *call)
{
    shrink(call, 3);
}

/* Bilinear demosaicking alone, of the whole raw image, to u16. */
void demosaic_only(PeerCall *call)
{
    static const PeerArray in = peer_input(call, "in", "u16", 2);
    peer_output(call, "u16", 3, in.size[0], in.size[1], 3, 1);
    Work         *w   = start(call, "bilinear demosaicking alone, nothing before or after it");
    const cv::Mat raw = plane(in, CV_16U);
    w->result.create(raw.size(), CV_16UC3);
    w->run = [=]() { cv::cvtColor(raw, w->result, cv::COLOR_BayerGR2RGB); };
    finish(call, w, CV_16U);
}

} // namespace

extern "C" const PeerEntry peer_entries[] = {
    { "blur", "blur", blur_box },
    { "unsharp", "same", unsharp },
    { "unsharp", "GaussianBlur", unsharp_simple },
    { "harris", "cornerHarris", harris_corner },
    { "bilateral_grid", "bilateralFilter", bilateral_exact },
    { "camera_pipe", "demosaicking", demosaic_only },
    { "max_filter", "dilate", dilate_ellipse },
    { "hist", "equalizeHist", hist_ycrcb },
    { "mat_mul", "same", mat_mul },
    { "opening41", "same", opening41 },
    { "closing41", "same", closing41 },
    { "warp", "same", warp },
    { "shrink2", "same", shrink2 },
    { "shrink3", "same", shrink3 },
    { nullptr, nullptr, nullptr },
};
