package tape

import (
	"bytes"
	"crypto/rand"
)

// Frames teach redaction: a secret that stood beside its name is then looked for
// without it, and a private key may go on in the next frames. So a drain that
// goes on where another one ended must know what that one knew. In the database it
// stands sealed with the tape's key, which is gone when the session has ended. The
// nonce is random; those of the records, which are small numbers, it never meets.

// taughtAs is what the seal vouches for as well: no record of a tape passes for it.
const taughtAs = "taught"

// sealTaught prepares what redaction was taught for the next checkpoint.
func (d *Drain) sealTaught() {
	if d.redactor == nil {
		return
	}
	state := d.redactor.State()
	if bytes.Equal(state, d.taught) {
		return
	}
	d.taught, d.sealed = state, nil
	if len(state) > 0 {
		aead := d.reader.aead
		nonce := make([]byte, aead.NonceSize())
		rand.Read(nonce) // never fails
		d.sealed = aead.Seal(nonce, nonce, state, []byte(taughtAs))
	}
}

// recall takes over what an earlier drain was taught. What does not open was not
// sealed by a drain of this tape, and is no reason to lose the rest of it.
func (d *Drain) recall(c checkpoint) {
	aead := d.reader.aead
	n := aead.NonceSize()
	if d.redactor == nil || len(c.Taught) < n {
		return
	}
	state, err := aead.Open(nil, c.Taught[:n], c.Taught[n:], []byte(taughtAs))
	if err == nil && d.redactor.Restore(state) == nil {
		d.taught, d.sealed = state, c.Taught
	}
}
