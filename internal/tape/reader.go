package tape

import (
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
)

// window is how much of a tape is read in one step.
const window = 256 << 10

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
// It returns io.EOF when the tape is at length, errTorn when its rest is too
// short for a whole record, and errDamaged for one that does not open; resync
// then goes on.
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
	whole := h.size()
	if err := r.need(whole, length); err != nil {
		return record{}, err
	}
	data, err := open(r.aead, r.buf[r.pos:r.pos+whole-h.fill])
	if err != nil {
		return record{}, err
	}
	rec := record{kind: h.kind, time: h.time, offset: r.next, data: data}
	r.pos += whole
	r.next += int64(whole)
	return rec, nil
}

// mostTries bounds how many places behind damage are tried as a record.
const mostTries = 1000

// resync goes to the next record that opens, or to length when there is none,
// and returns how many bytes lie between. blank says that all of them are zero:
// a crash of the machine left room for what was never written.
func (r *reader) resync(length int64) (skipped int64, blank bool, err error) {
	from, tries := r.next, 0
	buf := make([]byte, window)
	blank = true
	for at := from; at < length; {
		n, err := r.src.ReadAt(buf[:min(window, length-at)], at)
		if n == 0 || err != nil && !errors.Is(err, io.EOF) {
			return 0, false, fmt.Errorf("read the tape: %w", errors.Join(err, io.ErrUnexpectedEOF))
		}
		i := 0
		for ; i+recordSize <= n; i++ {
			blank = blank && buf[i] == 0
			if _, err := parseRecordHeader(buf[i:]); err != nil || at+int64(i) == from {
				continue
			}
			if tries++; tries > mostTries {
				break
			}
			r.seek(at + int64(i))
			if _, err := r.read(length); err == nil {
				r.seek(at + int64(i))
				return r.next - from, false, nil
			}
		}
		if tries > mostTries || at+int64(n) >= length {
			for ; i < n; i++ {
				blank = blank && buf[i] == 0
			}
			break
		}
		at += int64(i)
	}
	r.seek(length)
	return length - from, blank && tries <= mostTries, nil
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
