# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Checks of the test API server (tests/kube/conformance): a module a subject."""
