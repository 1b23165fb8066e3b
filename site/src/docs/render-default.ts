import { defaultPlans } from '@sluice/shared/config/plans.ts';
import { docsAssets } from '../dashboard/serve-page.ts';
import { renderDocuments, type RenderedFile } from './render.ts';

/** The compiler runs this program, and puts what it prints into the build as `rendered.json`. */
const options = { plans: defaultPlans, assets: docsAssets() };
const file: RenderedFile = { options: JSON.stringify(options), documents: renderDocuments(options) };
process.stdout.write(JSON.stringify(file));
