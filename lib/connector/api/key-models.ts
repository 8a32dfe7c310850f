/**
 * Returns the name of the model that an AAGUID stands for in the FIDO Metadata Service. Undefined for one that is not
 * in the table: it has the models that are ordered most, and grows with the products of the delivery service.
 */
export const keyModelOf = (aaguid: string): string | undefined =>
  Object.entries(aaguidsOf).find(([, aaguids]) => aaguids.includes(aaguid))?.[0];

const aaguidsOf: Readonly<Record<string, readonly string[]>> = {
  "YubiKey 5 Series": [
    "19083c3d-8383-4b18-bc03-8f1c9ab2fd1b",
    "cb69481e-8ff7-4039-93ec-0a2729a154a8",
    "ee882879-721c-4913-9775-3dfcce97072a",
  ],
  "YubiKey 5 Series with NFC": [
    "2fc0579f-8113-47ea-b116-bb5a8db9202a",
    "a25342c0-3cdc-4414-8e46-f4807fca511c",
    "fa2b99dc-9e39-4257-8f92-4a30d23c4118",
  ],
  "YubiKey 5 Series with Lightning": ["a02167b9-ae71-4ac7-9a07-06432ebb6f1c", "c5ef55ff-ad9a-4b9f-b580-adebafe026d0"],
  "YubiKey 5 FIPS Series": ["73bb0cd4-e502-49b8-9c6f-b59445bf720b"],
  "YubiKey 5 FIPS Series with NFC": ["c1f9a0bc-1dd2-404a-b27f-8e29047a43fd"],
  "YubiKey 5 FIPS Series with Lightning": ["85203421-48f9-4355-9bc8-8a53846e5083"],
  "YubiKey Bio Series": ["d8522d9f-575b-4866-88a9-ba99fa02f35b"],
  "Security Key by Yubico": ["b92c3f9a-c014-4056-887f-140a2501163b", "f8a011f3-8c0a-4d15-8006-17111f9edc7d"],
  "Security Key by Yubico with NFC": ["149a2021-8ef6-4133-96b8-81f8d5b7f1f5", "6d44ba9b-f6ec-2e49-b930-0c8fe920cb73"],
  "Security Key NFC by Yubico": ["a4e9fc6d-4cbe-4758-b8ba-37598bb5bbaa", "e77e3c64-05e3-428b-8824-0cbeb04b829d"],
};
