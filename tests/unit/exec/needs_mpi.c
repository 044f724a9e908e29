/* SPDX-License-Identifier: MIT */
int fake_mpi(int value);

int main(void)
{
	return fake_mpi(0);
}
