package tape

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"agentrec/store"

	"github.com/oklog/ulid/v2"
)

// A tape is a file header and then records, all little-endian:
//
//	header  magic[8] version u16 zero[6] ulid[16]
//	record  length u32, kind u8, fill u24, counter u64, stamp u64, sealed[length], zero[fill]
//
// stamp is microseconds since the session's start. sealed is AES-128-GCM with
// the nonce (kind u32, counter u64) and the record's header as additional data,
// so that no record can be changed or invented unnoticed. The kinds in, out and
// err hold one chunk each, exactly as it was read; start, event and end hold
// JSON. A start is always the first record. The kind exchange holds what
// exchange.go says, since version 2. Since version 3 a long record may be filled
// up to a block, see fill, and room holds nothing.
const (
	magic      = "ARTAPE\r\n"
	version    = 3
	oldest     = 1
	headerSize = 32
	recordSize = 24
	tagSize    = 16
	keySize    = 16
)

// block is what a file system keeps in memory as one piece when it is written
// as one, from a multiple of its size on. That costs it 15 to 17 µs for 64 KiB,
// and 20 to 25 anywhere else (ext4, Linux 6.18).
const block = 64 << 10

// MaxChunk is the longest chunk that fits one record, in bytes: its record is a
// block.
const MaxChunk = block - recordSize - tagSize

// maxSealed bounds what a reader takes for a record: JSON records may be longer
// than a chunk.
const maxSealed = 16 << 20

type kind uint8

const (
	kindIn    = kind(store.In)
	kindOut   = kind(store.Out)
	kindErr   = kind(store.Err)
	kindStart = kind(store.Streams)
	kindEvent = kindStart + 1
	kindEnd   = kindStart + 2

	kindExchange = kindStart + 3
	kindRoom     = kindStart + 4
	kinds        = int(kindRoom) + 1
)

// roomSize is what the record of kind room takes, the second one since version
// 3: where the disk is full, the end of the session takes its place.
const roomSize = 1 << 10

// errTorn is a record that the tape ends within: it was never written whole,
// so nothing of it was forwarded.
var errTorn = errors.New("the tape ends within a record")

// errNewer is a tape that this agentrec does not know how to read.
var errNewer = errors.New("it was written by a newer agentrec")

// errDamaged is a record that was written whole and does not open any more.
var errDamaged = errors.New("a record of the tape is damaged")

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

func fileHeader(id ulid.ULID) []byte {
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[8:], version)
	copy(b[16:], id[:])
	return b
}

func parseFileHeader(b []byte) (ulid.ULID, error) {
	var id ulid.ULID
	if len(b) < headerSize || string(b[:8]) != magic {
		return id, errors.New("the header is damaged")
	}
	if v := binary.LittleEndian.Uint16(b[8:]); v < oldest || v > version {
		return id, fmt.Errorf("%w (tape version %d)", errNewer, v)
	}
	copy(id[:], b[16:headerSize])
	return id, nil
}

// sealer seals the records of one kind. It is used by one goroutine at a time
// and allocates nothing once its buffer has grown.
type sealer struct {
	aead    cipher.AEAD
	kind    kind
	counter uint64
	nonce   [12]byte
	buf     []byte
}

func newSealer(aead cipher.AEAD, k kind, size int) *sealer {
	s := &sealer{aead: aead, kind: k, buf: make([]byte, 0, recordSize+size+tagSize)}
	binary.LittleEndian.PutUint32(s.nonce[:], uint32(k))
	return s
}

// seal returns the record for p, with fill zeros behind it; it is valid until
// the next call. A counter is never used twice, whether or not the record
// reaches the tape.
func (s *sealer) seal(t time.Duration, p []byte, fill int) []byte {
	s.counter++
	need := recordSize + len(p) + tagSize + fill
	if cap(s.buf) < need {
		s.buf = make([]byte, 0, need)
	}
	h := s.buf[:recordSize]
	binary.LittleEndian.PutUint32(h, uint32(len(p)+tagSize))
	binary.LittleEndian.PutUint32(h[4:], uint32(s.kind)|uint32(fill)<<8)
	binary.LittleEndian.PutUint64(h[8:], s.counter)
	binary.LittleEndian.PutUint64(h[16:], uint64(t/time.Microsecond))
	binary.LittleEndian.PutUint64(s.nonce[4:], s.counter)
	rec := s.aead.Seal(h, s.nonce[:], p, h)
	clear(rec[len(rec):need])
	return rec[:need]
}

// record is one opened record.
type record struct {
	kind   kind
	time   time.Duration
	offset int64 // where it begins on the tape
	data   []byte
}

type recordHeader struct {
	length int // of what is sealed
	fill   int
	kind   kind
	time   time.Duration
}

// size is what the record takes on the tape.
func (h recordHeader) size() int { return recordSize + h.length + h.fill }

func parseRecordHeader(b []byte) (recordHeader, error) {
	length := binary.LittleEndian.Uint32(b)
	k, fill := b[4], binary.LittleEndian.Uint32(b[4:])>>8
	if length < tagSize || length > maxSealed || int(k) >= kinds || fill >= block {
		return recordHeader{}, errDamaged
	}
	us := binary.LittleEndian.Uint64(b[16:])
	return recordHeader{int(length), int(fill), kind(k), time.Duration(us) * time.Microsecond}, nil
}

// open opens a sealed record in place: b is its header and its sealed bytes.
func open(aead cipher.AEAD, b []byte) ([]byte, error) {
	var nonce [12]byte
	nonce[0] = b[4]
	copy(nonce[4:], b[8:16])
	sealed := b[recordSize:]
	p, err := aead.Open(sealed[:0], nonce[:], sealed, b[:recordSize])
	if err != nil {
		return nil, errDamaged
	}
	return p, nil
}
