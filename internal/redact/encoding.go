package redact

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"agentrec/store"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// Encoded reports whether a header says that its body is compressed.
func Encoded(header []store.Field) bool {
	list, err := codings(store.FieldOf(header, "content-encoding"))
	return err != nil || len(list) > 0
}

// decoded returns what the pieces of a compressed body unpack to, at most limit
// bytes, and where what each gave ends. A body that is cut unpacks as far as it
// goes. It reports false for an encoding that it does not know and for what does
// not unpack.
func decoded(header []store.Field, pieces [][]byte, limit int) (text []byte, ends []int, ok bool) {
	if !Encoded(header) {
		return nil, nil, false
	}
	src := &pieceReader{pieces: pieces}
	in, free, err := Decoder(store.FieldOf(header, "content-encoding"), src)
	if err != nil {
		return nil, nil, false
	}
	defer free()
	ends = make([]int, 0, len(pieces))
	buf := make([]byte, 32<<10)
	for {
		n, err := in.Read(buf)
		for len(ends) < src.at {
			ends = append(ends, len(text))
		}
		if text = append(text, buf[:n]...); len(text) > limit {
			return nil, nil, false
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			for len(ends) < len(pieces) {
				ends = append(ends, len(text))
			}
			return text, ends, true
		case err != nil:
			return nil, nil, false
		}
	}
}

var errEncoding = errors.New("unknown encoding")

// mostCodings is how many encodings one in another are taken off. Nobody uses
// more than one.
const mostCodings = 3

// codings returns the encodings that a content-encoding names, the one applied
// last in front.
func codings(encoding string) ([]string, error) {
	var list []string
	for name := range strings.SplitSeq(encoding, ",") {
		switch name = strings.ToLower(strings.TrimSpace(name)); name {
		case "", "identity":
			continue
		}
		if list = append(list, name); len(list) > mostCodings {
			return nil, errEncoding
		}
	}
	slices.Reverse(list)
	return list, nil
}

// Decoder returns a reader for what in holds in the encodings that a
// content-encoding names: those of RFC 9110 section 8.4.1, RFC 7932 and RFC 8878.
// The caller calls free at the end. It reads from in already.
func Decoder(encoding string, in io.Reader) (r io.Reader, free func(), err error) {
	list, err := codings(encoding)
	if err != nil {
		return nil, nil, err
	}
	var frees []func()
	free = func() {
		for _, f := range slices.Backward(frees) {
			f()
		}
	}
	for _, name := range list {
		switch name {
		case "gzip", "x-gzip":
			in, err = gzip.NewReader(in)
		case "br":
			in = brotli.NewReader(in)
		case "zstd":
			var d *zstd.Decoder
			d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderLowmem(true))
			if err == nil {
				in, frees = d, append(frees, d.Close)
			}
		case "deflate":
			// Some mean the bare form by it.
			b := bufio.NewReader(in)
			if head, peeked := b.Peek(2); peeked == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
				in, err = zlib.NewReader(b)
			} else {
				in = flate.NewReader(b)
			}
		default:
			err = errEncoding
		}
		if err != nil {
			free()
			return nil, nil, err
		}
	}
	return in, free, nil
}

// pieceReader reads pieces one by one; at is which one was read last.
type pieceReader struct {
	pieces [][]byte
	at     int
	used   int // of it
}

func (r *pieceReader) Read(p []byte) (int, error) {
	for r.at < len(r.pieces) && r.used == len(r.pieces[r.at]) {
		if r.at+1 == len(r.pieces) {
			return 0, io.EOF
		}
		r.at, r.used = r.at+1, 0
	}
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.pieces[r.at][r.used:])
	r.used += n
	return n, nil
}

// compressed takes the secrets out of bodies that are compressed. One that holds
// any is stored as what it unpacks to, and its header does not say compressed any
// more; the others stay as they are. It reports which bodies it has looked at.
func (r *Redactor) compressed(x *store.Exchange) (request, answer bool) {
	if Encoded(x.Header) {
		var text []byte
		if text, _, request = decoded(x.Header, [][]byte{x.Body}, store.MaxRequestBody); request {
			if now := r.body(text, nil); !bytes.Equal(now, text) {
				x.SetBody(now)
				x.Header = plain(x.Header)
			}
		}
	}
	if Encoded(x.Answer) {
		var text []byte
		var ends []int
		if text, ends, answer = decoded(x.Answer, bytesOf(x.Pieces), store.MaxAnswerBody); answer {
			if now := r.body(text, ends); !bytes.Equal(now, text) {
				x.SetPieces(cut(now, ends, x.Pieces))
				x.Answer = plain(x.Answer)
			}
		}
	}
	return request, answer
}

func bytesOf(pieces []store.Piece) [][]byte {
	list := make([][]byte, len(pieces))
	for i, p := range pieces {
		list[i] = p.Bytes
	}
	return list
}

// cut returns pieces that end in text where ends says.
func cut(text []byte, ends []int, pieces []store.Piece) []store.Piece {
	pieces = slices.Clone(pieces)
	at := 0
	for i, end := range ends {
		pieces[i].Bytes = text[at:end:end]
		at = end
	}
	return pieces
}

// plain returns header lines without those that say how the body is encoded.
func plain(list []store.Field) []store.Field {
	return slices.DeleteFunc(slices.Clone(list), func(f store.Field) bool { return strings.EqualFold(f.Name, "content-encoding") })
}
