# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The test API server (tests/kube/README.md); a module a noun."""
