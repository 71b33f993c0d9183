/* A shim between Sealstone and a cryptographic library, to start yours from: here libcrypto of
 * OpenSSL 3 plays the vendor's library. AES and ARIA in GCM, CBC, counter mode and CMAC, HMAC, HKDF,
 * random bytes.
 *
 * Build it with: cc -shared -fPIC -O2 -I adapters/modules/include -o libreference.so
 *                adapters/modules/shim/reference.c -lcrypto
 *
 * Licence: MIT OR Apache-2.0. */

#include "sealstone_module.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

struct sealstone_keyed {
    EVP_CIPHER *cipher;
    uint8_t key[32];
};

static int self_test(void) {
    /* FIPS 180-4, "abc": a vendor's library has a function for all of its own tests */
    static const uint8_t wanted[4] = {0xba, 0x78, 0x16, 0xbf};
    uint8_t digest[32];
    unsigned length = 0;
    int done = EVP_Digest("abc", 3, digest, &length, EVP_sha256(), NULL);
    return done == 1 && length == 32 && memcmp(digest, wanted, 4) == 0 ? SEALSTONE_MODULE_OK
                                                                     : SEALSTONE_MODULE_FAILED;
}

static int aead_new(const char *name, const uint8_t *key, size_t key_bytes,
                    sealstone_keyed **keyed) {
    static const char *const names[][2] = {
        {"aes-128", "AES-128-GCM"},   {"aes-192", "AES-192-GCM"},   {"aes-256", "AES-256-GCM"},
        {"aria-128", "ARIA-128-GCM"}, {"aria-192", "ARIA-192-GCM"}, {"aria-256", "ARIA-256-GCM"},
    };
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i][0], name) == 0) {
            found = names[i][1];
        }
    }
    EVP_CIPHER *cipher = found ? EVP_CIPHER_fetch(NULL, found, NULL) : NULL;
    if (cipher == NULL) {
        return SEALSTONE_MODULE_UNSUPPORTED;
    }
    sealstone_keyed *made = OPENSSL_secure_zalloc(sizeof *made);
    if (made == NULL || key_bytes > sizeof made->key ||
        key_bytes != (size_t)EVP_CIPHER_get_key_length(cipher)) {
        OPENSSL_secure_clear_free(made, sizeof *made);
        EVP_CIPHER_free(cipher);
        return SEALSTONE_MODULE_FAILED;
    }
    made->cipher = cipher;
    memcpy(made->key, key, key_bytes);
    *keyed = made;
    return SEALSTONE_MODULE_OK;
}

static void aead_free(sealstone_keyed *keyed) {
    EVP_CIPHER_free(keyed->cipher);
    OPENSSL_secure_clear_free(keyed, sizeof *keyed);
}

/* Begins a message; null on failure. */
static EVP_CIPHER_CTX *begin(sealstone_keyed *keyed, int encrypt, const uint8_t *nonce,
                             const uint8_t *associated, size_t associated_bytes) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int length = 0;
    if (context != NULL && associated_bytes <= INT32_MAX &&
        EVP_CipherInit_ex2(context, keyed->cipher, keyed->key, nonce, encrypt, NULL) == 1 &&
        (associated_bytes == 0 || EVP_CipherUpdate(context, NULL, &length, associated,
                                                   (int)associated_bytes) == 1)) {
        return context;
    }
    EVP_CIPHER_CTX_free(context);
    return NULL;
}

static int pass(EVP_CIPHER_CTX *context, uint8_t *data, size_t data_bytes) {
    int length = 0;
    return data_bytes <= INT32_MAX &&
           (data_bytes == 0 ||
            EVP_CipherUpdate(context, data, &length, data, (int)data_bytes) == 1);
}

static int aead_seal(sealstone_keyed *keyed, const uint8_t nonce[12], const uint8_t *associated,
                     size_t associated_bytes, uint8_t *data, size_t data_bytes, uint8_t tag[16]) {
    EVP_CIPHER_CTX *context = begin(keyed, 1, nonce, associated, associated_bytes);
    uint8_t rest[16];
    int length = 0;
    int done = context != NULL && pass(context, data, data_bytes) &&
               EVP_CipherFinal_ex(context, rest, &length) == 1 &&
               EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag) == 1;
    EVP_CIPHER_CTX_free(context);
    return done ? SEALSTONE_MODULE_OK : SEALSTONE_MODULE_FAILED;
}

static int aead_open(sealstone_keyed *keyed, const uint8_t nonce[12], const uint8_t *associated,
                     size_t associated_bytes, uint8_t *data, size_t data_bytes,
                     const uint8_t tag[16]) {
    EVP_CIPHER_CTX *context = begin(keyed, 0, nonce, associated, associated_bytes);
    uint8_t copy[16], rest[16];
    int length = 0;
    memcpy(copy, tag, sizeof copy);
    if (context == NULL || !pass(context, data, data_bytes) ||
        EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, copy) != 1) {
        EVP_CIPHER_CTX_free(context);
        return SEALSTONE_MODULE_FAILED;
    }
    int right = EVP_CipherFinal_ex(context, rest, &length) == 1;
    EVP_CIPHER_CTX_free(context);
    return right ? SEALSTONE_MODULE_OK : SEALSTONE_MODULE_WRONG_TAG;
}

struct sealstone_hmac {
    EVP_MAC_CTX *context;
};

static void hmac_free(sealstone_hmac *hmac) {
    EVP_MAC_CTX_free(hmac->context);
    OPENSSL_free(hmac);
}

static int hmac_new(const uint8_t *key, size_t key_bytes, sealstone_hmac **hmac) {
    OSSL_PARAM params[] = {OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, "SHA2-256", 0),
                           OSSL_PARAM_END};
    sealstone_hmac *made = OPENSSL_zalloc(sizeof *made);
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    if (made != NULL && mac != NULL) {
        made->context = EVP_MAC_CTX_new(mac);
    }
    EVP_MAC_free(mac);
    if (made == NULL || made->context == NULL ||
        EVP_MAC_init(made->context, key, key_bytes, params) != 1) {
        if (made != NULL) {
            hmac_free(made);
        }
        return SEALSTONE_MODULE_FAILED;
    }
    *hmac = made;
    return SEALSTONE_MODULE_OK;
}

static int hmac_update(sealstone_hmac *hmac, const uint8_t *piece, size_t piece_bytes) {
    return EVP_MAC_update(hmac->context, piece, piece_bytes) == 1 ? SEALSTONE_MODULE_OK
                                                                  : SEALSTONE_MODULE_FAILED;
}

static int hmac_finish(sealstone_hmac *hmac, uint8_t tag[32]) {
    size_t length = 0;
    int done = EVP_MAC_final(hmac->context, tag, &length, 32) == 1 && length == 32;
    return done ? SEALSTONE_MODULE_OK : SEALSTONE_MODULE_FAILED;
}

static int hkdf_sha256(const uint8_t *secret, size_t secret_bytes, const uint8_t *info,
                       size_t info_bytes, uint8_t *out, size_t out_bytes) {
    OSSL_PARAM params[] = {
        OSSL_PARAM_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA2-256", 0),
        OSSL_PARAM_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_bytes),
        OSSL_PARAM_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_bytes), OSSL_PARAM_END};
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    int done = context != NULL && EVP_KDF_derive(context, out, out_bytes, params) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return done ? SEALSTONE_MODULE_OK : SEALSTONE_MODULE_FAILED;
}

static int random_bytes(uint8_t *out, size_t out_bytes) {
    return RAND_priv_bytes_ex(NULL, out, out_bytes, 256) == 1 ? SEALSTONE_MODULE_OK
                                                              : SEALSTONE_MODULE_FAILED;
}

static int cmac(const char *name, const uint8_t *key, size_t key_bytes, const uint8_t *message,
                size_t message_bytes, uint8_t tag[16]) {
    static const struct {
        const char *name;
        const char *cipher;
        size_t key_bytes;
    } known[] = {
        {"aes-128", "AES-128-CBC", 16},   {"aes-192", "AES-192-CBC", 24},
        {"aes-256", "AES-256-CBC", 32},   {"aria-128", "ARIA-128-CBC", 16},
        {"aria-192", "ARIA-192-CBC", 24}, {"aria-256", "ARIA-256-CBC", 32},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) != 0) {
            continue;
        }
        OSSL_PARAM params[] = {
            OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_CIPHER, (char *)known[i].cipher, 0),
            OSSL_PARAM_END};
        EVP_MAC *mac = EVP_MAC_fetch(NULL, "CMAC", NULL);
        EVP_MAC_CTX *context = mac ? EVP_MAC_CTX_new(mac) : NULL;
        size_t length = 0;
        int done = context != NULL && key_bytes == known[i].key_bytes &&
                   EVP_MAC_init(context, key, key_bytes, params) == 1 &&
                   EVP_MAC_update(context, message, message_bytes) == 1 &&
                   EVP_MAC_final(context, tag, &length, 16) == 1 && length == 16;
        EVP_MAC_CTX_free(context);
        EVP_MAC_free(mac);
        return done ? SEALSTONE_MODULE_OK : SEALSTONE_MODULE_FAILED;
    }
    return SEALSTONE_MODULE_UNSUPPORTED;
}

struct sealstone_blocks {
    EVP_CIPHER *cbc;
    EVP_CIPHER *ctr;
    uint8_t key[32];
};

static void blocks_free(sealstone_blocks *blocks) {
    EVP_CIPHER_free(blocks->cbc);
    EVP_CIPHER_free(blocks->ctr);
    OPENSSL_secure_clear_free(blocks, sizeof *blocks);
}

static int blocks_new(const char *name, const uint8_t *key, size_t key_bytes,
                      sealstone_blocks **blocks) {
    static const struct {
        const char *name;
        const char *cbc;
        const char *ctr;
        size_t key_bytes;
    } known[] = {
        {"aes-128", "AES-128-CBC", "AES-128-CTR", 16},
        {"aes-192", "AES-192-CBC", "AES-192-CTR", 24},
        {"aes-256", "AES-256-CBC", "AES-256-CTR", 32},
        {"aria-128", "ARIA-128-CBC", "ARIA-128-CTR", 16},
        {"aria-192", "ARIA-192-CBC", "ARIA-192-CTR", 24},
        {"aria-256", "ARIA-256-CBC", "ARIA-256-CTR", 32},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) != 0) {
            continue;
        }
        sealstone_blocks *made =
            key_bytes == known[i].key_bytes ? OPENSSL_secure_zalloc(sizeof *made) : NULL;
        if (made == NULL) {
            return SEALSTONE_MODULE_FAILED;
        }
        made->cbc = EVP_CIPHER_fetch(NULL, known[i].cbc, NULL);
        made->ctr = EVP_CIPHER_fetch(NULL, known[i].ctr, NULL);
        if (made->cbc == NULL || made->ctr == NULL) {
            blocks_free(made);
            return SEALSTONE_MODULE_UNSUPPORTED;
        }
        memcpy(made->key, key, key_bytes);
        *blocks = made;
        return SEALSTONE_MODULE_OK;
    }
    return SEALSTONE_MODULE_UNSUPPORTED;
}

/* One message, without padding. */
static int whole(const EVP_CIPHER *cipher, const uint8_t *key, int encrypt, const uint8_t iv[16],
                 uint8_t *data, size_t data_bytes) {
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    uint8_t rest[16];
    int length = 0;
    int done = context != NULL && EVP_CipherInit_ex2(context, cipher, key, iv, encrypt, NULL) == 1 &&
               EVP_CIPHER_CTX_set_padding(context, 0) == 1 && pass(context, data, data_bytes) &&
               EVP_CipherFinal_ex(context, rest, &length) == 1 && length == 0;
    EVP_CIPHER_CTX_free(context);
    return done ? SEALSTONE_MODULE_OK : SEALSTONE_MODULE_FAILED;
}

static int cbc_encrypt(sealstone_blocks *blocks, const uint8_t iv[16], uint8_t *data,
                       size_t data_bytes) {
    return whole(blocks->cbc, blocks->key, 1, iv, data, data_bytes);
}

static int cbc_decrypt(sealstone_blocks *blocks, const uint8_t iv[16], uint8_t *data,
                       size_t data_bytes) {
    return whole(blocks->cbc, blocks->key, 0, iv, data, data_bytes);
}

static int ctr(sealstone_blocks *blocks, const uint8_t counter[16], uint8_t *data,
               size_t data_bytes) {
    return whole(blocks->ctr, blocks->key, 1, counter, data, data_bytes);
}

const sealstone_module *sealstone_module_table(void) {
    static const sealstone_module table = {
        .interface = SEALSTONE_MODULE_INTERFACE,
        .bytes = sizeof(sealstone_module),
        .name = "reference-shim",
        .version = OPENSSL_VERSION_STR,
        .certificate = NULL,
        .self_test = self_test,
        .aead_new = aead_new,
        .aead_seal = aead_seal,
        .aead_open = aead_open,
        .aead_free = aead_free,
        .hmac_sha256_new = hmac_new,
        .hmac_sha256_update = hmac_update,
        .hmac_sha256_finish = hmac_finish,
        .hmac_sha256_free = hmac_free,
        .hkdf_sha256 = hkdf_sha256,
        .random = random_bytes,
        .cmac = cmac,
        .blocks_new = blocks_new,
        .cbc_encrypt = cbc_encrypt,
        .cbc_decrypt = cbc_decrypt,
        .ctr = ctr,
        .blocks_free = blocks_free,
    };
    return &table;
}
