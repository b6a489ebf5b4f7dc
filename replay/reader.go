package replay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync/atomic"

	"agentrec/store"
)

// input of the engine loop.
type arrival struct {
	frame []byte // a live frame without its terminator
	term  store.Terminator
	giant bool   // frame stands for one that is too long to be held
	piece []byte // bytes of such a one, with its terminator, where they are asked for; they come before it
	eof   bool
	err   error // why reading ended, nil at a plain end
}

// intake is the client's stream, of which it can be told whether all that was
// sent has been taken.
type intake struct {
	r       io.Reader
	reading atomic.Bool // a Read is under way
}

func (t *intake) Read(p []byte) (int, error) {
	t.reading.Store(true)
	defer t.reading.Store(false)
	return t.r.Read(p)
}

// empty reports whether the reader waits for a client that has sent nothing more.
func (t *intake) empty() bool { return t.reading.Load() && !pending(t.r) }

// read splits the client's bytes into frames and hands them on until the end.
// It is the one goroutine that may be left behind: a blocked read of stdin
// cannot be woken, so it ends with the process, or when r ends.
func read(r io.Reader, to chan<- arrival, stop <-chan struct{}) { readAll(r, to, stop, false) }

// readAll is read, with the bytes of giants if pieces are wanted.
func readAll(r io.Reader, to chan<- arrival, stop <-chan struct{}, pieces bool) {
	send := func(a arrival) bool {
		select {
		case to <- a:
			return true
		case <-stop:
			return false
		}
	}
	b := bufio.NewReaderSize(r, 64<<10)
	var line giantLine
	for {
		part, err := b.ReadSlice('\n')
		if over := line.add(part); pieces && len(over) > 0 && !send(arrival{piece: bytes.Clone(over)}) {
			return
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err == nil || line.size > 0 {
			frame, term := line.frame(err == nil)
			if !send(arrival{frame: frame, term: term, giant: line.sum != nil}) {
				return
			}
			line = giantLine{}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			send(arrival{eof: true, err: err})
			return
		}
	}
}

// giantLine collects a line; one longer than store.MaxRaw is only hashed.
type giantLine struct {
	buf  []byte
	size int64
	sum  hash.Hash
}

// add takes bytes of the line and returns those that are not held.
func (l *giantLine) add(part []byte) []byte {
	l.size += int64(len(part))
	if l.sum == nil && l.size <= store.MaxRaw+2 {
		l.buf = append(l.buf, part...)
		return nil
	}
	over := part
	if l.sum == nil {
		l.sum = sha256.New()
		over = append(l.buf, part...)
		l.buf = nil
	}
	l.sum.Write(over)
	return over
}

func (l *giantLine) frame(terminated bool) ([]byte, store.Terminator) {
	if l.sum != nil {
		return giantText(l.size, l.sum), store.None
	}
	if !terminated {
		return l.buf, store.None
	}
	line := l.buf[:len(l.buf)-1]
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1], store.CRLF
	}
	return line, store.LF
}

// giantText stands for a frame that is too long to be held.
func giantText(size int64, sum hash.Hash) []byte {
	return fmt.Appendf(nil, giantWord+" of about %d MiB, sha256 %x", size>>20, sum.Sum(nil))
}

// giantWord begins the text that stands for a giant.
const giantWord = "giant frame"
