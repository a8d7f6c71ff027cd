import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type Plugin } from 'vite'

/** Writes each asset a second time, compressed: the server sends these files as they are. */
function compressed(): Plugin {
  return {
    name: 'meantime-compressed',
    apply: 'build',
    writeBundle({ dir }) {
      const assets = join(dir ?? 'dist', 'assets')
      for (const name of readdirSync(assets)) {
        // The time in the header is zero: the same sources give the same bytes.
        const bytes = gzipSync(readFileSync(join(assets, name)), { level: 9 })
        writeFileSync(join(assets, `${name}.gz`), bytes)
      }
    },
  }
}

export default defineConfig({
  base: '/',
  plugins: [svelte(), compressed()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
  },
  server: {
    host: '127.0.0.1',
    // `npm run dev` shows the data of a server that runs beside it.
    proxy: { '/api': { target: process.env.MEANTIME_URL ?? 'http://127.0.0.1:8088' } },
  },
})
