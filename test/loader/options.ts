const loader = process.execArgv[process.execArgv.indexOf('--import') + 1];

/** Options that make another process load TypeScript as this one does. For a process of another user: `tsx`. */
export const loaderOptions: readonly string[] = [
  '--import',
  loader === undefined || loader === 'tsx' ? import.meta.resolve('tsx') : loader,
];
