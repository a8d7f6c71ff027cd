/** Loads modules of the console in Node, as Vite compiles them. */

import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

process.env.TZ = 'Europe/Berlin'

export async function load(path) {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const vite = await createServer({ root, logLevel: 'error', appType: 'custom', server: { middlewareMode: true, hmr: false, ws: false, watch: null }, optimizeDeps: { noDiscovery: true } })
  const module = await vite.ssrLoadModule(path)
  await vite.close()
  return module
}
