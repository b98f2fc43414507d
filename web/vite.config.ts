import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { licences } from './licences'

// The build goes into the Go package that embeds it. Names have no hashes, so that a change renames nothing; the server
// sends an ETag. Nothing is inlined into the page: its policy would refuse it.
export default defineConfig({
  base: '/console/',
  plugins: [react(), tailwindcss(), licences()],
  build: {
    outDir: process.env.OUT ?? '../internal/api/console/dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js', assetFileNames: '[name][extname]' },
    },
  },
})
