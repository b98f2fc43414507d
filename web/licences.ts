import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

/** Writes the licences of all libraries that are in the build beside it. */
export function licences(): Plugin {
  return {
    name: 'licences',
    generateBundle(_, bundle) {
      const folders = new Set<string>()
      for (const chunk of Object.values(bundle)) {
        if (chunk.type !== 'chunk') continue
        for (const id of Object.keys(chunk.modules)) {
          const m = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)
          if (m) folders.add(m[1]!.replace(/^\0/, ''))
        }
      }
      folders.add(join(dirname(new URL(import.meta.url).pathname), 'node_modules/tailwindcss'))
      const texts = [...folders].map((folder) => {
        const p = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { name: string; version: string; license: string }
        const file = readdirSync(folder).sort().find((f) => /^licen[cs]e/i.test(f) && existsSync(join(folder, f)))
        return `${p.name} ${p.version} (${p.license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : 'See its package.'}\n`
      })
      this.emitFile({ type: 'asset', fileName: 'licences.txt', source: texts.sort().join(`\n${'-'.repeat(72)}\n\n`) })
    },
  }
}
