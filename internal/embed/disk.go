package embed

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"

	"github.com/muse-agent/muse/internal/atomicfile"
)

// The disk cache is a header and then records of one size:
//
//	key      16 bytes  of SHA-256(model hash, 0, text)
//	vector   384 × float32, little-endian
//	checksum  4 bytes  CRC-32 of both
//
// Records are only appended, under a file lock. A process that dies while
// writing leaves part of a record at the end; the next writer cuts it off. A
// record with a wrong checksum counts as absent.
const (
	diskHeader = "muse embedding cache 1, 384 x float32\n"
	keySize    = 16
	recordSize = keySize + Dim*4 + 4
)

type diskKey [keySize]byte

func cacheKey(hash, text string) diskKey {
	h := sha256.New()
	io.WriteString(h, hash)
	h.Write([]byte{0})
	io.WriteString(h, text)
	return diskKey(h.Sum(nil)[:keySize])
}

// diskCache is not safe for concurrent use within a process; several processes
// may each have one on the same file.
type diskCache struct {
	f     *os.File
	path  string
	index map[diskKey]int64 // offset of the record
	seen  int64             // the file is indexed up to here
}

func openDiskCache(path string) (*diskCache, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("embed: disk cache: %w; name another file, or none, by MUSE_EMBED_CACHE", err)
	}
	d := &diskCache{f: f, path: path, index: map[diskKey]int64{}, seen: int64(len(diskHeader))}
	err = d.locked(func() error {
		head := make([]byte, len(diskHeader))
		n, err := f.ReadAt(head, 0)
		if err != nil && err != io.EOF {
			return err
		}
		head = head[:n]
		if n < len(diskHeader) && bytes.HasPrefix([]byte(diskHeader), head) { // new, or died while creating it
			if err := f.Truncate(0); err != nil {
				return err
			}
			_, err = f.WriteAt([]byte(diskHeader), 0)
			return err
		}
		if string(head) != diskHeader {
			return errors.New("is not an embedding cache of this version; remove it, or name another file by MUSE_EMBED_CACHE")
		}
		return d.refresh()
	})
	if err != nil {
		return nil, fmt.Errorf("embed: disk cache %s: %w", path, errors.Join(err, f.Close()))
	}
	return d, nil
}

func (d *diskCache) locked(fn func() error) error {
	unlock, err := atomicfile.LockFile(d.f)
	if err != nil {
		return err
	}
	return errors.Join(fn(), unlock())
}

// refresh indexes what was appended since the last look, by this process or others.
func (d *diskCache) refresh() error {
	st, err := d.f.Stat()
	if err != nil {
		return err
	}
	if st.Size() < d.seen { // somebody replaced or cut the file
		clear(d.index)
		d.seen = int64(len(diskHeader))
	}
	buf := make([]byte, 256*recordSize)
	for st.Size()-d.seen >= recordSize {
		n := min(int64(len(buf)), (st.Size()-d.seen)/recordSize*recordSize)
		if _, err := d.f.ReadAt(buf[:n], d.seen); err != nil {
			return err
		}
		for b := buf[:n]; len(b) > 0; b = b[recordSize:] {
			d.index[diskKey(b[:keySize])] = d.seen
			d.seen += recordSize
		}
	}
	return nil
}

func (d *diskCache) get(k diskKey) ([]float32, error) {
	off, ok := d.index[k]
	if !ok {
		return nil, nil
	}
	var rec [recordSize]byte
	if _, err := d.f.ReadAt(rec[:], off); err != nil {
		return nil, err
	}
	body := rec[:recordSize-4]
	if !bytes.Equal(rec[:keySize], k[:]) || crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(rec[recordSize-4:]) {
		delete(d.index, k)
		return nil, fmt.Errorf("embed: disk cache %s: record at byte %d is damaged", d.path, off)
	}
	vec := make([]float32, Dim)
	for i := range vec {
		vec[i] = math.Float32frombits(binary.LittleEndian.Uint32(body[keySize+4*i:]))
	}
	return vec, nil
}

func (d *diskCache) put(keys []diskKey, rows [][]float32) error {
	return d.locked(func() error {
		if err := d.refresh(); err != nil {
			return err
		}
		var b []byte
		for i, k := range keys {
			if _, ok := d.index[k]; ok {
				continue // another process was faster
			}
			start := len(b)
			b = append(b, k[:]...)
			for _, x := range rows[i] {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
			}
			b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
		}
		// Writing at the end of the last whole record overwrites a cut-off one.
		if _, err := d.f.WriteAt(b, d.seen); err != nil {
			return err
		}
		if err := d.f.Truncate(d.seen + int64(len(b))); err != nil {
			return err
		}
		return d.refresh()
	})
}

func (d *diskCache) close() error { return d.f.Close() }
