// Package redact finds secrets in frames and command lines and replaces them
// by tokens: equal secrets get equal tokens, and a token does not tell the
// secret.
package redact

import (
	"agentrec/internal/dialect"
	"agentrec/store"
)

// Options says what counts as a secret besides well-known key shapes and names.
type Options struct {
	Key     []byte   // of the database: 32 bytes; tokens are keyed by it
	Environ []string // KEY=VALUE of the agent: values of secret-looking names are secrets
	DotEnv  []byte   // contents of a .env file, read the same way
	Rules   []string // regular expressions of the user; what they match is a secret
}

// Redactor replaces secrets. Safe for concurrent use once the dialect is set.
type Redactor struct{}

// New returns a redactor.
func New(o Options) (*Redactor, error) { panic("unwritten") }

// SetDialect adds the secret paths of a dialect.
func (r *Redactor) SetDialect(d *dialect.Dialect) { panic("unwritten") }

// Frame returns the frame with its secrets replaced, raw itself when it has
// none. Valid JSON stays valid JSON; all bytes outside secrets stay.
func (r *Redactor) Frame(stream store.Stream, raw []byte) []byte { panic("unwritten") }

// Argv returns a command line with its secrets replaced.
func (r *Redactor) Argv(argv []string) []string { panic("unwritten") }

// Giant returns a redactor for a frame that comes in parts.
func (r *Redactor) Giant() *Giant { panic("unwritten") }

// Giant redacts one frame of any length in bounded memory, by key names, key
// shapes and known values, with an overlap between parts.
type Giant struct{}

// Next takes the next part and returns what may be stored so far; it holds
// back what could begin a secret.
func (g *Giant) Next(part []byte) []byte { panic("unwritten") }

// End returns the rest.
func (g *Giant) End() []byte { panic("unwritten") }

// Hit is a secret found.
type Hit struct {
	Kind       string // "api_key", "openai", "env:NAME", ...
	Start, End int    // bytes of the input
}

// Find returns the secrets in a frame, in order; tokens are not secrets.
func (r *Redactor) Find(stream store.Stream, raw []byte) []Hit { panic("unwritten") }

// Token returns the token for a secret: "<redacted:KIND:HMAC8>".
func (r *Redactor) Token(kind string, secret []byte) string { panic("unwritten") }
