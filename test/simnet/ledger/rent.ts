/** Rent by the Rent sysvar of late 2026: an account must hold (128 + data length) × rate. */
export const lamportsPerByte = 5080n;

const accountOverheadBytes = 128n;

export function minimumBalance(dataLength: number): bigint {
  return (accountOverheadBytes + BigInt(dataLength)) * lamportsPerByte;
}
