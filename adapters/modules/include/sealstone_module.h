/* The interface between Sealstone and a cryptographic module: what a shim of about two hundred
 * lines fills in, so that a vendor's library computes in place of Sealstone's own ciphers.
 * docs/guide/modules.md leads through it.
 *
 * Rules for every function:
 * - It may be called by many threads at once, also with one keyed cipher; one HMAC is used by one
 *   thread at a time.
 * - It returns SEALSTONE_MODULE_OK, or one of the other codes; Sealstone never goes on after them.
 * - A pointer to no bytes may be null.
 * - Nothing is kept of what a pointer leads to after the function returns, but for copies.
 *
 * Licence: MIT OR Apache-2.0. */

#ifndef SEALSTONE_MODULE_H
#define SEALSTONE_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface, the first field of the table. */
#define SEALSTONE_MODULE_INTERFACE 1

enum {
    SEALSTONE_MODULE_OK = 0,
    /* The module does not have this cipher or function. */
    SEALSTONE_MODULE_UNSUPPORTED = 1,
    /* The tag is wrong: returned by aead_open alone, and by nothing else that goes wrong there. */
    SEALSTONE_MODULE_WRONG_TAG = 2,
    /* The module failed, or is in an error state. */
    SEALSTONE_MODULE_FAILED = 3
};

/* A cipher with its key set: the shim's own type. */
typedef struct sealstone_keyed sealstone_keyed;

/* A block cipher with its key set, for CBC and counter mode: the shim's own type. */
typedef struct sealstone_blocks sealstone_blocks;

/* An HMAC that is being computed: the shim's own type. */
typedef struct sealstone_hmac sealstone_hmac;

/* What a module is and does. A function that it does not have is null. */
typedef struct sealstone_module {
    /* SEALSTONE_MODULE_INTERFACE. */
    uint32_t interface;
    /* sizeof(sealstone_module). A table that ends with `cmac`, as that of earlier headers, is taken,
     * too: it lacks what comes after it. One of another length is refused. */
    uint32_t bytes;
    /* Name in files and reports: printable ASCII without a space, the same in every version. */
    const char *name;
    /* Version: printable ASCII. With name and a space at most 63 bytes. */
    const char *version;
    /* Its certificate, as the vendor states it, in UTF-8; null where there is none. */
    const char *certificate;

    /* Tests the module, once, before anything else is called. */
    int (*self_test)(void);

    /* Sets the key of `cipher` in GCM with nonces of 12 bytes and tags of 16 (SP 800-38D, KS X
     * ISO/IEC 19772). `cipher` is a name that `sealstone ciphers` prints, such as "aria-256". */
    int (*aead_new)(const char *cipher, const uint8_t *key, size_t key_bytes,
                    sealstone_keyed **keyed);
    /* Encrypts `data` in place and writes its tag. */
    int (*aead_seal)(sealstone_keyed *keyed, const uint8_t nonce[12], const uint8_t *associated,
                     size_t associated_bytes, uint8_t *data, size_t data_bytes, uint8_t tag[16]);
    /* Decrypts `data` in place if the tag is right, compared in constant time. */
    int (*aead_open)(sealstone_keyed *keyed, const uint8_t nonce[12], const uint8_t *associated,
                     size_t associated_bytes, uint8_t *data, size_t data_bytes,
                     const uint8_t tag[16]);
    /* Zeroes and frees the key. */
    void (*aead_free)(sealstone_keyed *keyed);

    /* Begins an HMAC-SHA-256 (RFC 2104) of a message that comes in pieces. */
    int (*hmac_sha256_new)(const uint8_t *key, size_t key_bytes, sealstone_hmac **hmac);
    int (*hmac_sha256_update)(sealstone_hmac *hmac, const uint8_t *piece, size_t piece_bytes);
    int (*hmac_sha256_finish)(sealstone_hmac *hmac, uint8_t tag[32]);
    /* Zeroes and frees it, finished or not. */
    void (*hmac_sha256_free)(sealstone_hmac *hmac);
    /* Derives `out` from `secret` by HKDF-SHA-256 without salt (RFC 5869). */
    int (*hkdf_sha256)(const uint8_t *secret, size_t secret_bytes, const uint8_t *info,
                       size_t info_bytes, uint8_t *out, size_t out_bytes);
    /* Fills `out` from the module's generator. */
    int (*random)(uint8_t *out, size_t out_bytes);

    /* Computes the CMAC (SP 800-38B) of a message with `cipher`, whose blocks have 16 bytes: the
     * values of index columns. */
    int (*cmac)(const char *cipher, const uint8_t *key, size_t key_bytes, const uint8_t *message,
                size_t message_bytes, uint8_t tag[16]);

    /* Sets the key of `cipher`, whose blocks have 16 bytes, for CBC and counter mode: the pages and
     * logs of MariaDB. */
    int (*blocks_new)(const char *cipher, const uint8_t *key, size_t key_bytes,
                      sealstone_blocks **blocks);
    /* CBC (SP 800-38A, 6.2) of whole blocks in place, from `iv` on, without any padding. */
    int (*cbc_encrypt)(sealstone_blocks *blocks, const uint8_t iv[16], uint8_t *data,
                       size_t data_bytes);
    int (*cbc_decrypt)(sealstone_blocks *blocks, const uint8_t iv[16], uint8_t *data,
                       size_t data_bytes);
    /* Counter mode (SP 800-38A, 6.5) of any length in place, from the block `counter` on, all 128
     * bits of which count. May be null where the others are not. */
    int (*ctr)(sealstone_blocks *blocks, const uint8_t counter[16], uint8_t *data,
               size_t data_bytes);
    /* Zeroes and frees the key. */
    void (*blocks_free)(sealstone_blocks *blocks);
} sealstone_module;

/* The one function that a shim exports: returns the table, which lives as long as the library is
 * loaded, or null if the module cannot be had. */
const sealstone_module *sealstone_module_table(void);

#ifdef __cplusplus
}
#endif

#endif
