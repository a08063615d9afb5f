package books

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"remit/internal/contract"
	"remit/internal/engine"
)

// Sizes of assets. From presignedFrom on an asset is uploaded by an address of its own.
const (
	presignedFrom = 10 << 20
	uploadTime    = time.Hour // how long such an address is good for
)

// UploadAssetIn is an asset, or how large it will be.
type UploadAssetIn struct {
	BookID     string  `json:"book_id"`
	AssetType  string  `json:"asset_type"`
	Filename   string  `json:"filename"`
	BinaryData *string `json:"binary_data"`
	FileSize   *int64  `json:"file_size"`
}

// UploadAssetOut says where an asset is, or where to send it.
type UploadAssetOut struct {
	Status    string             `json:"status"`
	Method    string             `json:"method"`
	UploadURL string             `json:"upload_url,omitempty"`
	CDNURL    string             `json:"cdn_url"`
	FileSize  *int64             `json:"file_size,omitempty"`
	MIME      string             `json:"mime_type,omitempty"`
	Path      string             `json:"path,omitempty"`
	ExpiresIn int                `json:"expires_in,omitempty"`
	Headers   *map[string]string `json:"headers,omitempty"` // may be empty
}

// Check refuses an upload of nothing, of two things, or without a name.
func (in UploadAssetIn) Check() error {
	if (in.BinaryData == nil) == (in.FileSize == nil) {
		return contract.Errorf(contract.Invalid, "Send exactly one of binary_data (less than 10 MiB, as base64) and file_size (10 to 100 MiB, to get an address for the upload)").With("field", "binary_data")
	}
	_, err := fileName(in.Filename)
	return err
}

// UploadAsset stores an asset, or gives an address to send it to.
func (t *Tools) UploadAsset(ctx context.Context, in UploadAssetIn) (UploadAssetOut, error) {
	name, err := fileName(in.Filename)
	if err != nil {
		return UploadAssetOut{}, err
	}
	path := assetPath(in.AssetType, name)
	if in.BinaryData == nil {
		return t.presigned(ctx, in.BookID, path, *in.FileSize)
	}
	data, err := decoded(*in.BinaryData)
	if err != nil {
		return UploadAssetOut{}, err
	}
	h, err := t.Library.writable(ctx, in.BookID)
	if err != nil {
		return UploadAssetOut{}, err
	}
	url, err := t.Links.Asset(ctx, h.key(path))
	if err != nil {
		return UploadAssetOut{}, failure(ctx, err)
	}
	done, err := t.Library.write(ctx, h, path, contentOf(data), edit{by: by(ctx), op: opUpload})
	return UploadAssetOut{
		Status: success, Method: "direct", CDNURL: url, FileSize: &done.Size,
		MIME: mimeOf(data[:min(len(data), headSize)], name), Path: h.key(path),
	}, err
}

// presigned gives an address that takes an asset: the store's own, or ours.
func (t *Tools) presigned(ctx context.Context, bookID, path string, size int64) (UploadAssetOut, error) {
	h, err := t.Library.writable(ctx, bookID)
	if err != nil {
		return UploadAssetOut{}, err
	}
	key := h.key(path)
	url, err := t.Links.Asset(ctx, key)
	if err != nil {
		return UploadAssetOut{}, failure(ctx, err)
	}
	signed, own, err := h.store.SignPut(ctx, key, size, uploadTime)
	switch {
	case err != nil:
	case own: // nobody will tell us when the bytes are there
		err = t.Library.announce(ctx, h, path, size, by(ctx))
	default:
		signed, err = t.Links.Upload(ctx, Upload{Key: key, Size: size, By: by(ctx)}, t.Now().Add(uploadTime))
	}
	if err != nil {
		return UploadAssetOut{}, failure(ctx, err)
	}
	if signed.Headers == nil {
		signed.Headers = map[string]string{}
	}
	return UploadAssetOut{
		Status: "presigned_url", Method: "presigned", UploadURL: signed.URL, CDNURL: url,
		ExpiresIn: int(uploadTime / time.Second), Headers: &signed.Headers,
	}, nil
}

// decoded gives the bytes of binary_data.
func decoded(text string) ([]byte, error) {
	encoding := base64.StdEncoding.Strict()
	if !strings.HasSuffix(text, "=") {
		encoding = base64.RawStdEncoding.Strict()
	}
	wrong := func(why string) *contract.Error {
		return contract.Errorf(contract.Invalid, "binary_data is not base64: %s", why).With("field", "binary_data")
	}
	if strings.HasPrefix(text, "data:") {
		return nil, wrong("it is a data: URL; send what follows the comma alone")
	}
	if encoding.DecodedLen(len(text)) >= presignedFrom+3 {
		return nil, tooMuch()
	}
	if at := strings.IndexAny(text, "\r\n"); at >= 0 {
		return nil, wrong(fmt.Sprintf("there is a line break at byte %d; send it in one line", at))
	}
	data, err := encoding.DecodeString(text)
	if fault, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return nil, wrong(fmt.Sprintf("byte %d does not belong there", int64(fault))).Because(err)
	}
	if len(data) >= presignedFrom {
		return nil, tooMuch()
	}
	return data, err
}

func tooMuch() error {
	return contract.Errorf(contract.Invalid, "binary_data holds 10 MiB or more; send file_size instead of it, and PUT the bytes to the upload_url of the answer").With("field", "binary_data")
}

// GetAssetIn names an asset.
type GetAssetIn struct {
	BookID    string `json:"book_id"`
	AssetType string `json:"asset_type"`
	Filename  string `json:"filename"`
}

// ListedAsset is what is known of an asset.
type ListedAsset struct {
	CDNURL     string    `json:"cdn_url"`
	FileSize   int64     `json:"file_size"`
	MIME       string    `json:"mime_type"`
	Uploaded   time.Time `json:"upload_timestamp"`
	UploadedBy string    `json:"uploaded_by_agent_id"`
	AssetType  string    `json:"asset_type"`
	Filename   string    `json:"filename"`
}

// Check refuses a name that no asset can have.
func (in GetAssetIn) Check() error {
	_, err := fileNames(in.Filename)
	return err
}

// GetAsset tells what is known of an asset.
func (t *Tools) GetAsset(ctx context.Context, in GetAssetIn) (ListedAsset, error) {
	name, err := fileNames(in.Filename)
	if err != nil {
		return ListedAsset{}, err
	}
	h, err := t.Library.place(ctx, in.BookID)
	if err != nil {
		return ListedAsset{}, err
	}
	path := assetPath(in.AssetType, name)
	object, err := h.store.Stat(ctx, h.key(path))
	if err != nil {
		return ListedAsset{}, t.Library.unread(ctx, h, path, err)
	}
	found, err := t.described(ctx, h, path+"/", []Object{object})
	if err != nil {
		return ListedAsset{}, err
	}
	if len(found) == 0 {
		return ListedAsset{}, t.Library.missing(ctx, h, path)
	}
	return found[0], nil
}

// ListAssetsIn says which assets to list.
type ListAssetsIn struct {
	BookID    string `json:"book_id"`
	AssetType string `json:"asset_type"`
}

// ListAssetsOut is what is known of them.
type ListAssetsOut struct {
	Result []ListedAsset `json:"result"`

	total int
}

// mostListed is how many assets an answer holds at most.
const mostListed = 1000

// Notes tells whether some are left out.
func (out ListAssetsOut) Notes() engine.Notes {
	return engine.Notes{Truncated: len(out.Result) < out.total, Total: int64(out.total)}
}

// ListAssets tells what is known of the assets of a book, by path.
func (t *Tools) ListAssets(ctx context.Context, in ListAssetsIn) (ListAssetsOut, error) {
	h, err := t.Library.place(ctx, in.BookID)
	if err != nil {
		return ListAssetsOut{}, err
	}
	beneath := assetsPrefix
	if in.AssetType != "" {
		beneath = assetPath(in.AssetType, "")
	}
	objects, err := t.Library.files(ctx, h, beneath)
	if err != nil {
		return ListAssetsOut{}, err
	}
	if len(objects) == 0 {
		if err := t.Library.known(ctx, h); err != nil {
			return ListAssetsOut{}, err
		}
	}
	objects = slices.DeleteFunc(objects, func(o Object) bool { return !isAsset(o.Key) })
	found, err := t.described(ctx, h, beneath, objects[:min(len(objects), mostListed)])
	return ListAssetsOut{Result: found, total: len(objects)}, err
}
