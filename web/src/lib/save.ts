/** Has the browser store a file, under the name that the server gave it. */
export function save(data: Blob, name: string, response?: Response) {
  const sent = /filename="?([^";]+)"?/.exec(response?.headers.get('Content-Disposition') ?? '')?.[1]
  const url = URL.createObjectURL(data)
  const a = document.createElement('a')
  a.href = url
  a.download = sent ?? name
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
