// The JavaScript client; its package is the folder `client` beside this file.

export * from './client/vicinity.js'
