import { boundaries, faces } from './boundaries.ts';
import { documentPaths, documentedErrors, generatedFiles } from './documented.ts';
import { budgetsOfSize, folders } from './folders.ts';
import type { HouseCheck } from './house-check.ts';
import { licences } from './licences.ts';
import { noLoader } from './loader.ts';
import { producedErrors } from './produced-errors.ts';
import { productDependencies, reach } from './reach.ts';
import { deadCode, format, lintAndTypes } from './tools.ts';
import { words } from './words.ts';

/** The house rules, run by `pnpm check` and before the suites. */
export const houseChecks: readonly HouseCheck[] = [
  lintAndTypes,
  format,
  deadCode,
  reach,
  productDependencies,
  boundaries,
  faces,
  folders,
  budgetsOfSize,
  words,
  documentPaths,
  documentedErrors,
  producedErrors,
  generatedFiles,
  licences,
  noLoader,
];
