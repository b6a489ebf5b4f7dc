package tape

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// window is how much of a tape is read in one step.
const window = 1 << 20

// reader reads the records of a tape in order. It reads ahead only within the
// length it is told, so it may follow a tape that grows.
type reader struct {
	src  io.ReaderAt
	aead cipher.AEAD
	buf  []byte // buf[pos:] is read and not yet handed out
	pos  int
	next int64 // offset of the next record
}

func newReader(src io.ReaderAt, aead cipher.AEAD) *reader {
	return &reader{src: src, aead: aead, next: headerSize}
}

// seek goes to the record at offset.
func (r *reader) seek(offset int64) { r.buf, r.pos, r.next = r.buf[:0], 0, offset }

// read returns the next record, whose data is valid until the following call.
// It returns io.EOF when the tape is at length, and errTorn when its rest is
// not a whole record.
func (r *reader) read(length int64) (record, error) {
	if r.next >= length {
		return record{}, io.EOF
	}
	if err := r.need(recordSize, length); err != nil {
		return record{}, err
	}
	h, err := parseRecordHeader(r.buf[r.pos:])
	if err != nil {
		return record{}, err
	}
	whole := recordSize + h.length
	if err := r.need(whole, length); err != nil {
		return record{}, err
	}
	data, err := open(r.aead, r.buf[r.pos:r.pos+whole])
	if err != nil {
		return record{}, err
	}
	rec := record{kind: h.kind, time: h.time, offset: r.next, data: data}
	r.pos += whole
	r.next += int64(whole)
	return rec, nil
}

// need makes n bytes from the next record on available in buf.
func (r *reader) need(n int, length int64) error {
	if len(r.buf)-r.pos >= n {
		return nil
	}
	if r.next+int64(n) > length {
		return errTorn
	}
	size := max(n, window)
	if cap(r.buf) < size {
		r.buf = append(make([]byte, 0, size), r.buf[r.pos:]...)
	} else {
		r.buf = r.buf[:copy(r.buf[:cap(r.buf)], r.buf[r.pos:])]
	}
	r.pos = 0
	have := len(r.buf)
	upto := min(int64(cap(r.buf)), length-r.next)
	got, err := r.src.ReadAt(r.buf[have:upto], r.next+int64(have))
	r.buf = r.buf[:have+got]
	if len(r.buf) >= n {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return errTorn
	}
	return fmt.Errorf("read the tape: %w", err)
}
