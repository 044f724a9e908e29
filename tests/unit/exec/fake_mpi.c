/* SPDX-License-Identifier: MIT */
int fake_mpi(int value);

__attribute__((visibility("default"))) int fake_mpi(int value)
{
	return value;
}
