// Package archtest holds no code: its test compares the imports of every package
// with the table of rooms in ARCHITECTURE.md.
package archtest
