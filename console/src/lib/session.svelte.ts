/** Who uses the console: the key, if the server wants one. It is forgotten with the tab. */

const STORED = 'meantime.key'

class Session {
  key = $state(sessionStorage.getItem(STORED) ?? '')
  /** Whether the server wants a key, or another one. */
  locked = $state(false)
  /** Whether a key was given and not taken. */
  wrong = $state(false)
  reachable = $state(true)

  login(key: string): void {
    this.key = key
    sessionStorage.setItem(STORED, key)
    this.locked = false
    this.wrong = false
  }

  logout(): void {
    this.key = ''
    sessionStorage.removeItem(STORED)
    location.assign('/')
  }

  refused(): void {
    this.wrong = this.key !== ''
    this.locked = true
  }
}

export const session = new Session()
