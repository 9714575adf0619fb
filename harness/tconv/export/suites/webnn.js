// META: title=test WebNN API convTranspose2d operation
// META: global=window
// META: variant=?cpu
// META: variant=?gpu
// META: variant=?npu
// META: script=../resources/utils.js
// META: timeout=long

'use strict';

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-convtranspose2d
// Integers whose sums are exact in the type, in whatever order they are added.

const getConvTranspose2dPrecisionTolerance = () => ({metricType: 'ULP', value: 0});

const convTranspose2dTests = TESTS;

webnn_conformance_test(
    convTranspose2dTests, buildAndExecuteGraph, getConvTranspose2dPrecisionTolerance);
